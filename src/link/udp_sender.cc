#include "link/udp_sender.h"

#include <netinet/udp.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/reason_id.h"
#include "link/mtu_hint.h"
#include "wire/frame.h"

namespace softrnic::link {
namespace {

constexpr int kMaxWaits = 8;  ///< × kWaitMs: the longest a full socket may hold up its lane
constexpr int kWaitMs = 5;
constexpr std::size_t kMaxUnsegmentable = 256;
constexpr std::size_t kVector = 32;  ///< messages a system call
constexpr std::uint8_t kKernelHopLimit = 64;

/// A message header with room for what goes along with it.
struct Envelope {
  SocketAddress to;
  alignas(cmsghdr) std::byte control[160];
};

class ControlWriter {
 public:
  explicit ControlWriter(msghdr& message) : message_(message) {}

  template <typename T>
  void add(int level, int type, const T& value) {
    auto* header =
        reinterpret_cast<cmsghdr*>(static_cast<std::byte*>(message_.msg_control) + message_.msg_controllen);
    header->cmsg_level = level;
    header->cmsg_type = type;
    header->cmsg_len = CMSG_LEN(sizeof value);
    std::memcpy(CMSG_DATA(header), &value, sizeof value);
    message_.msg_controllen += CMSG_SPACE(sizeof value);
  }

 private:
  msghdr& message_;
};

void add_source(ControlWriter& control, const TxRoute& route) {
  if (route.flow.destination.is_ipv4()) {
    in_pktinfo info{};
    info.ipi_ifindex = static_cast<int>(route.interface_index);
    info.ipi_spec_dst.s_addr = route.flow.source.ipv4_be();
    control.add(SOL_IP, IP_PKTINFO, info);
    return;
  }
  in6_pktinfo info{};
  info.ipi6_addr = to_in6(route.flow.source);
  info.ipi6_ifindex = route.interface_index;
  control.add(SOL_IPV6, IPV6_PKTINFO, info);
}

void address(msghdr& out, Envelope& envelope, const TxRoute& route, Family family) {
  const wire::Flow& flow = route.flow;
  const bool ipv4 = flow.destination.is_ipv4();
  envelope.to = to_socket_address(family, flow.destination, flow.destination_port, route.interface_index,
                                  flow.flow_label);
  out.msg_name = &envelope.to;
  out.msg_namelen = envelope.to.size();
  out.msg_control = envelope.control;
  ControlWriter control(out);
  add_source(control, route);
  if (flow.traffic_class != 0) {
    const int value = flow.traffic_class;
    control.add(ipv4 ? SOL_IP : SOL_IPV6, ipv4 ? IP_TOS : IPV6_TCLASS, value);
  }
  if (flow.hop_limit != 0 && (flow.hop_limit != kKernelHopLimit || flow.destination.is_multicast())) {
    const int value = flow.hop_limit;
    control.add(ipv4 ? SOL_IP : SOL_IPV6, ipv4 ? IP_TTL : IPV6_HOPLIMIT, value);
  }
}

void prepare(msghdr& out, Envelope& envelope, const TxMessage& message, iovec* iovecs, Family family) {
  out = msghdr{};
  address(out, envelope, message.route, family);
  if (message.segment_count > 1) {
    ControlWriter(out).add(SOL_UDP, UDP_SEGMENT, static_cast<std::uint16_t>(message.segment_bytes));
  }
  out.msg_iov = iovecs;
  out.msg_iovlen = message.iovec_count;
}

/// No checksum offload on the route, or a netdev that cannot. (Before Linux 6.13 also a segment longer than
/// the MTU: sent by itself it gets EMSGSIZE.)
bool cannot_segment(int error) { return error == EIO || error == EINVAL; }

bool is_full(int error) { return error == EAGAIN || error == ENOBUFS || error == ENOMEM; }

}  // namespace

UdpSender::UdpSender(int fd, Family family, std::uint16_t source_port, std::uint16_t peer_port, bool patient)
    : family_(family),
      peer_port_(peer_port),
      most_waits_(patient ? kMaxWaits : 0),
      sockets_(fd, source_port, family) {
  refusals_.reserve(kRefusals);
  unsegmentable_.reserve(kMaxUnsegmentable);
  group_.reserve(TxBatch::kMessages);
}

bool UdpSender::wait_writable(int fd, int& waits) const {
  if (++waits > most_waits_) return false;
  pollfd entry{fd, POLLOUT, 0};
  poll(&entry, 1, kWaitMs);
  return true;
}

TxRoute UdpSender::route_of(const ib::TxPacket& packet) {
  const ib::AddressVector& path = *packet.path;
  TxRoute route;
  const TxSockets::Choice socket = sockets_.choose(path.source_port);
  route.fd = socket.fd;
  route.flow.source = path.source;
  route.flow.destination = path.destination;
  route.flow.source_port = socket.port;
  route.flow.destination_port = peer_port_;
  route.flow.traffic_class = path.traffic_class;
  route.flow.hop_limit = path.hop_limit;
  route.flow.flow_label = path.flow_label;
  route.interface_index = path.interface_index;
  if (route.interface_index == 0 && (path.destination.is_link_local() || path.destination.is_multicast())) {
    route.interface_index = interface_of(path.source);
  }
  return route;
}

std::uint32_t UdpSender::interface_of(const wire::Gid& address) const {
  const auto own = std::find_if(addresses_.begin(), addresses_.end(),
                                [&](const device::GidEntry& entry) { return entry.gid == address; });
  return own != addresses_.end() ? own->interface_index : 0;
}

bool UdpSender::may_segment(const wire::Gid& destination) const {
  return unsegmentable_.empty() ||
         std::find(unsegmentable_.begin(), unsegmentable_.end(), destination) == unsegmentable_.end();
}

void UdpSender::send(const ib::TxPacket& packet) {
  const TxRoute route = route_of(packet);
  const bool segmentation = may_segment(packet.path->destination);
  const auto add = [&](const ib::TxPacket& part) {
    if (!batch_.has_room()) flush();
    batch_.add(part, route, segmentation);
  };
  if (packet.packets == 1) return add(packet);
  for (segmenter_.begin(packet); !segmenter_.done();) {
    add(segmenter_.next());
    const PacketSegmenter::Alike alike = segmenter_.alike();
    if (alike.count != 0) segmenter_.skip(batch_.repeat(alike.payload, alike.count));
  }
}

void UdpSender::send_damaged(const ib::TxPacket& packet, std::uint32_t bit) {
  if (!batch_.has_room()) flush();
  batch_.add_damaged(packet, route_of(packet), bit);
}

void UdpSender::show() {
  iovec raw[TxBatch::kMaxSingleIovecs];
  Bytes pieces[TxBatch::kMaxSingleIovecs];
  for (const TxMessage& message : batch_.messages()) {
    for (std::size_t i = 0; i < message.segment_count; ++i) {
      const std::size_t count = batch_.pieces(message, i, raw);
      for (std::size_t k = 0; k < count; ++k) {
        pieces[k] = Bytes(static_cast<const std::byte*>(raw[k].iov_base), raw[k].iov_len);
      }
      tap_->packet(wire::CaptureDirection::outbound, message.route.flow, static_cast<std::uint16_t>(i),
                   {pieces, count});
    }
  }
  tap_->flush();
}

void UdpSender::flush() {
  if (batch_.empty()) return;
  if (tap_ != nullptr) show();
  const auto messages = batch_.messages();
  // One system call a socket and kVector messages. Only packets of the same socket have an order to keep.
  for (TxMessage& first : messages) {
    const int fd = first.route.fd;
    if (fd < 0) continue;  // sent along with an earlier one
    group_.clear();
    for (TxMessage* message = &first; message != messages.data() + messages.size(); ++message) {
      if (message->route.fd == fd) group_.push_back(message);
    }
    send_group(fd, group_.size());
    for (TxMessage* message : group_) message->route.fd = -1;
  }
  batch_.clear();
}

void UdpSender::send_group(int fd, std::size_t count) {
  std::array<mmsghdr, kVector> headers;
  std::array<Envelope, kVector> envelopes;
  std::size_t done = 0;
  int waits = 0;
  while (done < count) {
    const std::size_t n = std::min(kVector, count - done);
    for (std::size_t i = 0; i < n; ++i) {
      TxMessage& message = *group_[done + i];
      prepare(headers[i].msg_hdr, envelopes[i], message, batch_.iovecs(message), family_);
    }
    const int sent = sendmmsg(fd, headers.data(), static_cast<unsigned>(n), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent > 0) {
      done += static_cast<std::size_t>(sent);
      waits = 0;
      continue;
    }
    const int error = errno;
    if (error == EINTR || (is_full(error) && wait_writable(fd, waits))) continue;
    TxMessage& message = *group_[done++];
    if (message.segment_count > 1 && cannot_segment(error)) {
      send_unsegmented(message);
    } else {
      refused(message, error, message.segment_count);
    }
  }
}

void UdpSender::send_unsegmented(TxMessage& message) {
  iovec iovecs[TxBatch::kMaxSingleIovecs];
  Envelope envelope;
  msghdr header{};
  address(header, envelope, message.route, family_);
  header.msg_iov = iovecs;
  bool any = false;
  int waits = 0;
  for (std::size_t i = 0; i < message.segment_count; ++i) {
    header.msg_iovlen = batch_.single(message, i, iovecs);
    while (sendmsg(message.route.fd, &header, MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
      const int error = errno;
      if (error == EINTR || (is_full(error) && wait_writable(message.route.fd, waits))) continue;
      refused(message, error, message.segment_count - i);
      return;
    }
    any = true;
  }
  if (any && unsegmentable_.size() < kMaxUnsegmentable)
    unsegmentable_.push_back(message.route.flow.destination);
}

void UdpSender::refused(const TxMessage& message, int error, std::uint64_t packets) {
  for (Refusal& refusal : refusals_) {
    if (refusal.error != error || refusal.destination != message.destination) continue;
    refusal.packets += packets;
    return;
  }
  if (refusals_.size() == kRefusals) return;
  const wire::Flow& flow = message.route.flow;
  const std::size_t ip_header = flow.destination.is_ipv4() ? wire::kIpv4Bytes : wire::kIpv6Bytes;
  refusals_.push_back({error, static_cast<std::uint32_t>(ip_header + wire::kUdpBytes + message.segment_bytes),
                       error == EMSGSIZE ? netdev_mtu(interface_of(flow.source)) : 0, message.destination,
                       packets});
}

void UdpSender::report(Receiver& receiver) {
  if (refusals_.empty()) return;
  for (const Refusal& refusal : refusals_) {
    const Reason reason = refusal.error == EMSGSIZE
                              ? because(ReasonId::send_too_long, refusal.ip_bytes, refusal.mtu)
                              : because(ReasonId::send_failed, refusal.error);
    receiver.dropped(reason, ib::Counter::send_errors, refusal.destination, refusal.packets);
  }
  refusals_.clear();
}

}  // namespace softrnic::link
