#include "rsocket/datagram_messages.h"

#include <algorithm>

namespace softrnic::rsocket {
namespace {

constexpr std::uint32_t kTag = 0x55555555;
constexpr std::uint32_t kMulticastQpn = 0xffffff;

// Where the fields stand.
enum UdpPlace : std::size_t {
  kTagAt = 0,
  kVersionAt = 4,
  kOpAt = 5,
  kUdpLengthAt = 6,
  kQpnAt = 8,
  kUdpHostAt = 12
};
enum DatagramPlace : std::size_t { kLengthAt = 1, kPortAt = 2, kHost4At = 4, kHost6At = 8 };

constexpr std::size_t kDatagramHeader4 = 8;
constexpr std::size_t kDatagramHeader6 = 24;

std::byte version_of(int family) { return std::byte{static_cast<unsigned char>(family == AF_INET ? 4 : 6)}; }

void store_host(std::byte* at, const InetAddress& address, int family) {
  if (family == AF_INET) {
    std::copy_n(&address.host[kIpv4At], 4, at);
  } else {
    std::ranges::copy(address.host, at);
  }
}

InetAddress ipv6(const std::byte* host, std::uint16_t port) {
  InetAddress out;
  std::copy_n(host, out.host.size(), out.host.begin());
  out.port = port;
  return out;
}

InetAddress packet_host(std::span<const std::byte, kGrhSize> grh, std::size_t ipv6_at, std::size_t ipv4_at) {
  const bool is_ipv6 = (grh[0] >> 4) == std::byte{6};
  return is_ipv6 ? ipv6(&grh[ipv6_at], 0) : InetAddress::ipv4(&grh[ipv4_at], 0);
}

}  // namespace

HeaderBytes udp_header(UdpOp op, std::uint32_t qpn, const InetAddress& sender, int family) {
  HeaderBytes header(udp_header_size(family));
  std::byte* const at = header.data();
  store_be32(at + kTagAt, kTag);
  at[kVersionAt] = version_of(family);
  at[kOpAt] = static_cast<std::byte>(op);
  at[kUdpLengthAt] = static_cast<std::byte>(header.size());
  store_be32(at + kQpnAt, qpn);
  store_host(at + kUdpHostAt, sender, family);
  return header;
}

HeaderBytes datagram_header(const InetAddress& sender, int family) {
  HeaderBytes header(family == AF_INET ? kDatagramHeader4 : kDatagramHeader6);
  std::byte* const at = header.data();
  at[0] = version_of(family);
  at[kLengthAt] = static_cast<std::byte>(header.size());
  store_be16(at + kPortAt, sender.port);
  store_host(at + (family == AF_INET ? kHost4At : kHost6At), sender, family);
  return header;
}

std::optional<UdpMessage> decode_udp(Bytes message) {
  if (message.size() < udp_header_size(AF_INET) || load_be32(&message[kTagAt]) != kTag) return std::nullopt;
  const std::size_t length = std::to_integer<std::size_t>(message[kUdpLengthAt]);
  const bool known = message[kVersionAt] == version_of(AF_INET)    ? length == udp_header_size(AF_INET)
                     : message[kVersionAt] == version_of(AF_INET6) ? length == udp_header_size(AF_INET6)
                                                                   : false;
  if (!known || message.size() < length) return std::nullopt;
  UdpMessage out;
  out.op = static_cast<UdpOp>(message[kOpAt]);
  if (out.op != UdpOp::data && out.op != UdpOp::control) return std::nullopt;
  out.qpn = load_be32(&message[kQpnAt]) & 0xffffff;
  if (out.qpn <= 1 || out.qpn == kMulticastQpn) return std::nullopt;
  out.payload = message.subspan(length);
  return out;
}

std::optional<DatagramMessage> decode_datagram(Bytes message) {
  if (message.size() < kDatagramHeader4) return std::nullopt;
  const std::size_t length = std::to_integer<std::size_t>(message[kLengthAt]);
  const std::uint16_t port = load_be16(&message[kPortAt]);
  if (message[0] == version_of(AF_INET) && length == kDatagramHeader4)
    return DatagramMessage{InetAddress::ipv4(&message[kHost4At], port), message.subspan(length)};
  if (message[0] == version_of(AF_INET6) && length == kDatagramHeader6 && message.size() >= length)
    return DatagramMessage{ipv6(&message[kHost6At], port), message.subspan(length)};
  return std::nullopt;
}

InetAddress packet_source(std::span<const std::byte, kGrhSize> grh) { return packet_host(grh, 8, 32); }
InetAddress packet_destination(std::span<const std::byte, kGrhSize> grh) { return packet_host(grh, 24, 36); }

}  // namespace softrnic::rsocket
