// What datagram rsockets say to each other, as rdma-core's librdmacm has it.
//
// Before a peer knows the queue pair of the other, datagrams go by UDP, behind a header that tells the
// sender's QPN; whoever receives one answers with its own. From then on they go by UD, behind a header that
// tells the sender's address.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "rsocket/inet_address.h"

namespace softrnic::rsocket {

/// Of a datagram with its header, by either way: peers have receive buffers of this size.
inline constexpr std::size_t kDatagramRoom = 2048;

/// Only these two travel.
enum class UdpOp : std::uint8_t { data = 0, control = 7 };

/// A header as it travels.
class HeaderBytes {
 public:
  explicit HeaderBytes(std::size_t size) : size_(size) {}
  Bytes bytes() const { return {bytes_.data(), size_}; }
  std::byte* data() { return bytes_.data(); }
  std::size_t size() const { return size_; }

 private:
  std::array<std::byte, 28> bytes_{};
  std::size_t size_;
};

/// `family`: of the sender's socket, which decides the form of its address.
HeaderBytes udp_header(UdpOp op, std::uint32_t qpn, const InetAddress& sender, int family);
constexpr std::size_t udp_header_size(int family) { return family == AF_INET ? 16 : 28; }
HeaderBytes datagram_header(const InetAddress& sender, int family);

struct UdpMessage {
  UdpOp op = UdpOp::data;
  std::uint32_t qpn = 0;
  Bytes payload;
};
/// Nothing when it is too short, has another tag or an unknown op, or names a queue pair that is nobody's (0,
/// 1 and the multicast QPN). The address in it is not looked at: UDP tells the sender's.
std::optional<UdpMessage> decode_udp(Bytes message);

struct DatagramMessage {
  InetAddress sender;
  Bytes payload;
};
/// Nothing when it is too short, or its length is not that of its version. An address that is link-local has
/// no scope.
std::optional<DatagramMessage> decode_datagram(Bytes message);

/// The size of what stands before each datagram in the buffer of a UD receive (IBTA 11.4.1.2).
inline constexpr std::size_t kGrhSize = 40;
/// The host that sent the packet: from the GRH, or from the IPv4 header in the last 20 bytes of its place
/// (IBTA A17).
InetAddress packet_source(std::span<const std::byte, kGrhSize> grh);
InetAddress packet_destination(std::span<const std::byte, kGrhSize> grh);

}  // namespace softrnic::rsocket
