#include "rsocket/gid_addresses.h"

#include <cstring>
#include <span>

#include "base/bytes.h"

namespace softrnic::rsocket {
namespace {

// Version 0 stands in the first byte, the version of IP in the upper half of the second.
enum Place : std::size_t { kIpVersionAt = 1, kPortAt = 2, kSourceAt = 4, kDestinationAt = 20 };
constexpr std::size_t kHostSize = 16, kIpv4At = 12;

std::span<const std::byte, kHostSize> host_of(const sockaddr_ib& address) {
  return std::as_bytes(std::span(address.sib_addr.sib_raw));
}

bool is_ipv4(const sockaddr_ib& address) {
  static constexpr std::array<std::byte, kIpv4At> kMapped{
      {{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, std::byte{0xff}, std::byte{0xff}}};
  return std::memcmp(host_of(address).data(), kMapped.data(), kMapped.size()) == 0;
}

/// IPv4 in the last four bytes, behind zeros.
void put_host(std::byte* at, const sockaddr_ib& address, bool as_ipv4) {
  const std::size_t from = as_ipv4 ? kIpv4At : 0;
  std::memcpy(at + from, &host_of(address)[from], kHostSize - from);
}

/// A service ID of an IP port space ends with the port.
std::uint16_t port_of(const sockaddr_ib& address) {
  return static_cast<std::uint16_t>(be64toh(address.sib_sid));
}

}  // namespace

std::array<std::byte, kConnectHeaderSize> connect_header(const sockaddr_ib& from, const sockaddr_ib& to) {
  std::array<std::byte, kConnectHeaderSize> header{};
  const bool as_ipv4 = is_ipv4(from) && is_ipv4(to);
  header[kIpVersionAt] = std::byte{static_cast<unsigned char>(as_ipv4 ? 0x40 : 0x60)};
  store_be16(&header[kPortAt], port_of(from));
  put_host(&header[kSourceAt], from, as_ipv4);
  put_host(&header[kDestinationAt], to, as_ipv4);
  return header;
}

}  // namespace softrnic::rsocket
