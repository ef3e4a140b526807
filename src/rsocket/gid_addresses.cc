#include "rsocket/gid_addresses.h"

#include <algorithm>

#include "base/bytes.h"

namespace softrnic::rsocket {
namespace {

// Version 0 stands in the first byte, the version of IP in the upper half of the second.
enum ConnectHeaderPlace : std::size_t {
  kIpVersionAt = 1,
  kSourcePortAt = 2,
  kSourceAt = 4,
  kDestinationAt = 20
};

/// IPv4 in the last four bytes, behind zeros.
void put_host(std::byte* at, const InetAddress& address, bool as_ipv4) {
  const std::size_t from = as_ipv4 ? kIpv4At : 0;
  std::copy(address.host.begin() + from, address.host.end(), at + from);
}

}  // namespace

std::array<std::byte, kConnectHeaderSize> connect_header(const InetAddress& from, const InetAddress& to) {
  std::array<std::byte, kConnectHeaderSize> header{};
  const bool as_ipv4 = from.is_ipv4() && to.is_ipv4();
  header[kIpVersionAt] = std::byte{static_cast<unsigned char>(as_ipv4 ? 0x40 : 0x60)};
  store_be16(&header[kSourcePortAt], from.port);
  put_host(&header[kSourceAt], from, as_ipv4);
  put_host(&header[kDestinationAt], to, as_ipv4);
  return header;
}

}  // namespace softrnic::rsocket
