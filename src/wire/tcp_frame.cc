#include "wire/tcp_frame.h"

#include <algorithm>

#include "wire/fields.h"
#include "wire/ip_headers.h"

namespace softrnic::wire {
namespace {

/// RFC 9293 3.1.
struct Tcp {
  using SourcePort = Field<0, 2>;
  using DestinationPort = Field<2, 2>;
  using Sequence = Field<4, 4>;
  using Acknowledgement = Field<8, 4>;
  using DataOffset = Field<12, 1>;  ///< words, in the upper 4 bits
  using Flags = Field<13, 1>;
  using Window = Field<14, 2>;
  using Checksum = Field<16, 2>;
  using Urgent = Field<18, 2>;
};

constexpr std::uint16_t kEtherTypeIpv4 = 0x0800;
constexpr std::uint16_t kEtherTypeIpv6 = 0x86dd;
constexpr std::uint16_t kWindow = 0xffff;

}  // namespace

std::size_t encode_tcp_frame(const TcpHeaders& headers, std::size_t payload, MutableBytes out) {
  const bool ipv4 = headers.flow.destination.is_ipv4();
  std::byte* p = out.data();
  std::copy(headers.destination_mac.begin(), headers.destination_mac.end(),
            p + field::Ethernet::kDestination);
  std::copy(headers.source_mac.begin(), headers.source_mac.end(), p + field::Ethernet::kSource);
  field::Ethernet::Type::store(p, ipv4 ? kEtherTypeIpv4 : kEtherTypeIpv6);
  p += kEthernetBytes;
  p += encode_ip(headers.flow, {kProtocolTcp, kTcpBytes + payload, 0, kIpv4DontFragment}, p);
  Tcp::SourcePort::store(p, headers.flow.source_port);
  Tcp::DestinationPort::store(p, headers.flow.destination_port);
  Tcp::Sequence::store(p, headers.sequence);
  Tcp::Acknowledgement::store(p, headers.acknowledgement);
  Tcp::DataOffset::store(p, kTcpBytes / 4 << 4);
  Tcp::Flags::store(p, headers.flags);
  Tcp::Window::store(p, kWindow);
  Tcp::Checksum::store(p, 0);
  Tcp::Urgent::store(p, 0);
  return static_cast<std::size_t>(p - out.data()) + kTcpBytes;
}

}  // namespace softrnic::wire
