#include "link/udp_link.h"

#include <unistd.h>

namespace softrnic::link {

UdpLink::UdpLink(const Options& options)
    : fd_(options.fd),
      family_(family_of(options.fd)),
      sender_(fd_, family_, options.port, options.peer_port, options.patient),
      receiver_(fd_, family_, options.port) {
  set_send_options(fd_, family_);
  set_receive_options(fd_, family_);
  if (options.sizes_buffers) set_buffer_sizes(fd_);
}

UdpLink::~UdpLink() { close(fd_); }

void UdpLink::set_addresses(std::vector<device::GidEntry> addresses) {
  sender_.set_addresses(std::move(addresses));
}

void UdpLink::send(const ib::TxPacket& packet, TimePoint) { sender_.send(packet); }

void UdpLink::send_damaged(const ib::TxPacket& packet, std::uint32_t bit, TimePoint) {
  sender_.send_damaged(packet, bit);
}

void UdpLink::set_tap(PacketTap* tap) {
  sender_.set_tap(tap);
  receiver_.set_tap(tap);
}

void UdpLink::flush(TimePoint) { sender_.flush(); }

bool UdpLink::has_packet(TimePoint) const { return recv(fd_, nullptr, 0, MSG_PEEK | MSG_DONTWAIT) >= 0; }

std::size_t UdpLink::receive(Receiver& receiver, TimePoint now) {
  sender_.report(receiver);
  return receiver_.receive(receiver, now);
}

bool UdpLink::join(const wire::Gid& group, std::uint32_t interface_index) {
  return change_membership(true, group, interface_index);
}

bool UdpLink::leave(const wire::Gid& group, std::uint32_t interface_index) {
  return change_membership(false, group, interface_index);
}

bool UdpLink::change_membership(bool join, const wire::Gid& group, std::uint32_t interface_index) {
  if (group.is_ipv4()) {
    ip_mreqn request{};
    request.imr_multiaddr.s_addr = group.ipv4_be();
    request.imr_ifindex = static_cast<int>(interface_index);
    return setsockopt(fd_, SOL_IP, join ? IP_ADD_MEMBERSHIP : IP_DROP_MEMBERSHIP, &request, sizeof request) ==
           0;
  }
  ipv6_mreq request{};
  request.ipv6mr_multiaddr = to_in6(group);
  request.ipv6mr_interface = interface_index;
  return setsockopt(fd_, SOL_IPV6, join ? IPV6_JOIN_GROUP : IPV6_LEAVE_GROUP, &request, sizeof request) == 0;
}

}  // namespace softrnic::link
