#include "cma/ip_header.h"

#include <algorithm>

namespace softrnic::cma {
namespace {

struct IpHeaderLayout {
  static constexpr std::size_t kVersion = 0, kIpVersion = 1, kPort = 2, kSource = 4, kDestination = 20;
};
constexpr std::size_t kAddressSize = 16, kIpv4Offset = 12;

/// An IPv4 address stands in the last four bytes, behind zeros (not mapped).
void put_host(MutableBytes out, const SocketAddress& address) {
  const auto& raw = address.host.raw;
  const std::size_t from = address.family == Family::ipv4 ? kIpv4Offset : 0;
  std::fill(out.begin(), out.end(), std::byte{0});
  std::copy(raw.begin() + static_cast<std::ptrdiff_t>(from), raw.end(),
            out.begin() + static_cast<std::ptrdiff_t>(from));
}

SocketAddress get_host(Bytes in, Family family) {
  SocketAddress address;
  address.family = family;
  std::copy(in.begin(), in.end(), address.host.raw.begin());
  if (family == Family::ipv4) address.host = wire::Gid::from_ipv4_be(__builtin_bswap32(load_be32(&in[12])));
  return address;
}

}  // namespace

void IpHeader::write(MutableBytes out) const {
  const unsigned ip_version = source.family == Family::ipv4 ? 4 : 6;
  out[IpHeaderLayout::kVersion] = std::byte{0};
  out[IpHeaderLayout::kIpVersion] = static_cast<std::byte>(ip_version << 4);
  store_be16(&out[IpHeaderLayout::kPort], source.port);
  put_host(out.subspan(IpHeaderLayout::kSource, kAddressSize), source);
  put_host(out.subspan(IpHeaderLayout::kDestination, kAddressSize), destination);
}

std::optional<IpHeader> IpHeader::read(Bytes in) {
  if (in.size() < kSize || in[IpHeaderLayout::kVersion] != std::byte{0}) return std::nullopt;
  const unsigned ip_version = std::to_integer<unsigned>(in[IpHeaderLayout::kIpVersion]) >> 4;
  if (ip_version != 4 && ip_version != 6) return std::nullopt;
  const Family family = ip_version == 4 ? Family::ipv4 : Family::ipv6;
  IpHeader header;
  header.source = get_host(in.subspan(IpHeaderLayout::kSource, kAddressSize), family);
  header.source.port = load_be16(&in[IpHeaderLayout::kPort]);
  header.destination = get_host(in.subspan(IpHeaderLayout::kDestination, kAddressSize), family);
  return header;
}

}  // namespace softrnic::cma
