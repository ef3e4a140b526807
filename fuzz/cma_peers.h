// Hosts that write to the connection manager under test: each message is made of a few bytes of the input, so
// that a mutation gives another well-formed message.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "cm/messages.h"
#include "cma/ip_header.h"
#include "cma/port_space.h"
#include "fuzz/check.h"
#include "mad/address.h"

namespace softrnic::fuzz {

inline cma::SocketAddress ipv4(std::uint32_t host_order, std::uint16_t port = 0) {
  cma::SocketAddress address = cma::SocketAddress::any(cma::Family::ipv4);
  address.host = wire::Gid::from_ipv4_be(__builtin_bswap32(host_order));
  address.port = port;
  return address;
}
inline cma::SocketAddress ipv6(std::byte net, std::uint8_t host, std::uint16_t port = 0) {
  cma::SocketAddress address = cma::SocketAddress::any(cma::Family::ipv6);
  address.host.raw[0] = net;
  if (net == std::byte{0xfe}) address.host.raw[1] = std::byte{0x80};
  address.host.raw[15] = std::byte{host};
  address.port = port;
  return address;
}

/// Ours, those of others, and those that nobody has.
inline cma::SocketAddress address_of(unsigned which) {
  static const std::array kAddresses{ipv4(0x0a000001),
                                     ipv4(0x0a000002),
                                     ipv4(0x0a000003),
                                     ipv4(0x7f000001),
                                     ipv4(0),
                                     ipv4(0xef010101),
                                     ipv6(std::byte{0xfd}, 1),
                                     ipv6(std::byte{0xfd}, 2),
                                     ipv6(std::byte{0xfe}, 1),
                                     ipv6(std::byte{0xfe}, 2),
                                     ipv6(std::byte{0}, 0),
                                     ipv6(std::byte{0}, 1),
                                     ipv6(std::byte{0xff}, 9),
                                     ipv4(0x0a000009)};
  cma::SocketAddress address = kAddresses[which % kAddresses.size()];
  if (address.is_link_local() && (which & 0x80) == 0) address.scope = 2;
  return address;
}
inline std::uint16_t port_of(unsigned which) { return static_cast<std::uint16_t>(7000 + which % 4); }

class Peers {
 public:
  /// What a message of ours told them of our ID.
  void heard(Bytes mad) {
    const std::uint32_t id = load_be32(&mad[mad::kHeaderBytes]);
    if (std::find(ours_.begin(), ours_.end(), id) == ours_.end()) ours_.push_back(id);
  }

  struct Datagram {
    mad::Address from;
    mad::Mad mad{};
  };
  /// 12 bytes of the input.
  Datagram make(Input& in) {
    Datagram out;
    const auto kind = in.take<std::uint8_t>(), who = in.take<std::uint8_t>();
    out.from.remote = address_of(who & 0xf).host;
    out.from.local = address_of(who >> 4).host;
    out.from.interface_index = 2;
    id_ = in.take<std::uint8_t>();
    const auto which = in.take<std::uint8_t>();
    named_ = ours_.empty() ? which : ours_[which % ours_.size()];
    figures_ = in.take<std::uint64_t>();
    switch (kind % 10) {
      case 0:
        return out.mad = cm::encode(req(out.from), kind), out;
      case 1:
        return out.mad = message<cm::Rep>(kind), out;
      case 2:
        return out.mad = message<cm::Rtu>(kind), out;
      case 3:
        return out.mad = message<cm::Rej>(kind), out;
      case 4:
        return out.mad = message<cm::Mra>(kind), out;
      case 5:
        return out.mad = message<cm::Dreq>(kind), out;
      case 6:
        return out.mad = message<cm::Drep>(kind), out;
      case 7:
        return out.mad = cm::encode(sidr_req(out.from), kind), out;
      case 8:
        return out.mad = cm::encode(sidr_rep(), kind), out;
      default:
        return out.mad = message<cm::Lap>(kind), out;
    }
  }

 private:
  std::uint8_t figure() {
    const auto value = static_cast<std::uint8_t>(figures_);
    figures_ >>= 8;
    return value;
  }

  template <typename Message>
  mad::Mad message(std::uint8_t transaction) {
    Message message;
    message.local_id = id_;
    message.remote_id = named_;
    if constexpr (requires { message.reason; }) message.reason = static_cast<cm::RejectReason>(figure());
    if constexpr (requires { message.about; }) message.about = static_cast<cm::About>(figure() % 4);
    if constexpr (requires { message.remote_qpn; }) message.remote_qpn = Qpn(figure());
    if constexpr (requires { message.qpn; }) message.qpn = Qpn(figure());
    if constexpr (requires { message.service_timeout; }) message.service_timeout = figure() % 32;
    if constexpr (requires { message.additional_info; }) message.additional_info[7] = std::byte{figure()};
    message.private_data[0] = std::byte{figure()};
    return cm::encode(message, transaction);
  }

  cm::ServiceId service() {
    const std::uint8_t which = figure();
    const auto space = cma::kPortSpaces[which % cma::kPortSpaces.size()];
    return cm::ServiceId(cma::service_id_of(space, port_of(which / 4)) + (which >= 0xf0 ? 1U << 20 : 0));
  }

  /// The addresses that lead the private data; some of them lie.
  void put_addresses(MutableBytes out, const mad::Address& from) {
    const std::uint8_t which = figure();
    cma::IpHeader header;
    header.source = address_of((which & 0x80) != 0 ? which : 1);
    if ((which & 0x80) == 0) header.source.host = from.remote;
    header.destination = header.source;
    header.destination.host = (which & 0x40) != 0 ? address_of(which & 0xf).host : from.local;
    header.write(out);
    out[cma::IpHeader::kSize] = std::byte{id_};
  }

  cm::Req req(const mad::Address& from) {
    cm::Req req;
    req.local_id = id_;
    req.service_id = service();
    put_addresses(req.private_data, from);
    const std::uint8_t bits = figure();
    req.primary.local_gid = (bits & 1) != 0 ? address_of(bits).host : from.remote;
    req.primary.remote_gid = from.local;
    req.mtu = bits >> 5;
    req.transport_service = (bits >> 1) & 3;
    req.ca_guid = bits & 8;
    req.max_cm_retries = figure() % 16;
    req.qpn = Qpn(figure() % 8);
    req.local_response_timeout = req.remote_response_timeout = figure() % 32;
    req.primary.ack_timeout = figure() % 32;
    return req;
  }

  cm::SidrReq sidr_req(const mad::Address& from) {
    cm::SidrReq req;
    req.request_id = id_;
    req.service_id = service();
    put_addresses(req.private_data, from);
    return req;
  }

  cm::SidrRep sidr_rep() {
    cm::SidrRep rep;
    rep.request_id = named_;
    rep.status = static_cast<cm::SidrStatus>(figure() % 8);
    rep.qpn = Qpn(figure());
    rep.qkey = figure() < 0x80 ? RDMA_UDP_QKEY : figure();
    rep.service_id = service();
    return rep;
  }

  std::vector<std::uint32_t> ours_;
  std::uint8_t id_ = 0;
  std::uint32_t named_ = 0;
  std::uint64_t figures_ = 0;
};

}  // namespace softrnic::fuzz
