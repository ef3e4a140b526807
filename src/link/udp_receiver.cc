#include "link/udp_receiver.h"

#include <arpa/inet.h>
#include <linux/sock_diag.h>
#include <netinet/udp.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>

#include "base/reason_id.h"
#include "wire/fields.h"
#include "wire/headers.h"

#ifndef IPV6_FLOWINFO
#define IPV6_FLOWINFO 11  // linux/in6.h
#endif

namespace softrnic::link {
namespace {

template <typename T>
T load(const cmsghdr* header) {
  T value{};
  const std::size_t held = header->cmsg_len - CMSG_LEN(0);
  std::memcpy(&value, CMSG_DATA(header), std::min(sizeof value, held));
  return value;
}

Bytes without_icrc(Bytes bytes) {
  return bytes.first(bytes.size() - std::min(bytes.size(), wire::kIcrcBytes));
}

std::uint32_t icrc_of(const wire::IcrcStart& start, Bytes bytes, std::uint16_t id) {
  wire::Icrc icrc(start, id);
  icrc.add_headers(without_icrc(bytes));
  return icrc.value();
}

/// Packets that the socket has dropped since it was made, as SO_RXQ_OVFL counts them.
std::uint32_t dropped_by(int fd) {
  std::array<std::uint32_t, SK_MEMINFO_VARS> memory{};
  socklen_t size = sizeof memory;
  getsockopt(fd, SOL_SOCKET, SO_MEMINFO, memory.data(), &size);
  return memory[SK_MEMINFO_DROPS];
}

TimePoint monotonic_now() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return TimePoint(std::chrono::seconds(now.tv_sec) + Duration(now.tv_nsec));
}

Qpn destination_of(Bytes bytes) { return Qpn(wire::field::Bth::Destination::load(bytes.data())); }

}  // namespace

UdpReceiver::UdpReceiver(int fd, Family family, std::uint16_t port)
    : fd_(fd), family_(family), port_(port), overflows_(dropped_by(fd)) {
  void* mapped = mmap(nullptr, kSlots * kSlotBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped != MAP_FAILED) pool_ = static_cast<std::byte*>(mapped);
  for (std::size_t i = 0; i < kSlots; ++i) {
    slots_[i].piece = {pool_ + i * kSlotBytes, kSlotBytes};
    headers_[i] = mmsghdr{};
    headers_[i].msg_hdr.msg_name = &slots_[i].from;
    headers_[i].msg_hdr.msg_iov = &slots_[i].piece;
    headers_[i].msg_hdr.msg_iovlen = 1;
    headers_[i].msg_hdr.msg_control = slots_[i].control;
  }
}

UdpReceiver::~UdpReceiver() {
  if (pool_ != nullptr) munmap(pool_, kSlots * kSlotBytes);
}

void UdpReceiver::prepare() {
  for (mmsghdr& header : headers_) {
    header.msg_hdr.msg_namelen = sizeof(SocketAddress);
    header.msg_hdr.msg_controllen = kControlBytes;
    header.msg_hdr.msg_flags = 0;
  }
}

void UdpReceiver::fill(TimePoint now) {
  if (slot_ < filled_) return;
  prepare();
  if (emptied_) empty_at_ = asked_at_;
  asked_at_ = now;
  const int count = recvmmsg(fd_, headers_.data(), kSlots, MSG_DONTWAIT, nullptr);
  filled_ = static_cast<std::size_t>(std::max(count, 0));
  emptied_ = filled_ < kSlots;
  slot_ = cut_ = 0;
}

std::size_t UdpReceiver::receive(Receiver& receiver, TimePoint now) {
  if (pool_ == nullptr) return 0;
  fill(now);
  std::size_t packets = 0;
  for (; slot_ < filled_; ++slot_, cut_ = 0) split(receiver, packets);
  if (tap_ != nullptr && packets != 0) tap_->flush();
  return packets;
}

UdpReceiver::Envelope UdpReceiver::open(const msghdr& header) const {
  Envelope out;
  const auto& from = *static_cast<const SocketAddress*>(header.msg_name);
  out.flow.source = to_gid(from);
  out.flow.source_port = port_of(from);
  out.flow.destination_port = port_;
  for (const cmsghdr* c = CMSG_FIRSTHDR(&header); c != nullptr;
       c = CMSG_NXTHDR(const_cast<msghdr*>(&header), const_cast<cmsghdr*>(c))) {
    if (c->cmsg_level == SOL_UDP && c->cmsg_type == UDP_GRO) {
      out.segment_bytes = static_cast<std::size_t>(std::max(load<int>(c), 0));
    } else if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SO_RXQ_OVFL) {
      out.overflows = load<std::uint32_t>(c);
      out.has_overflows = true;
    } else if (c->cmsg_level == SOL_IP) {
      if (c->cmsg_type == IP_TOS) out.flow.traffic_class = load<std::uint8_t>(c);
      if (c->cmsg_type == IP_TTL) out.flow.hop_limit = static_cast<std::uint8_t>(load<int>(c));
      if (c->cmsg_type == IP_PKTINFO && family_ == Family::inet) {
        const auto info = load<in_pktinfo>(c);
        out.flow.destination = wire::Gid::from_ipv4_be(info.ipi_addr.s_addr);
        out.interface_index = static_cast<std::uint32_t>(info.ipi_ifindex);
      }
    } else if (c->cmsg_level == SOL_IPV6) {
      if (c->cmsg_type == IPV6_PKTINFO) {
        const auto info = load<in6_pktinfo>(c);
        out.flow.destination = to_gid(info.ipi6_addr);
        out.interface_index = info.ipi6_ifindex;
      }
      if (c->cmsg_type == IPV6_TCLASS) out.flow.traffic_class = static_cast<std::uint8_t>(load<int>(c));
      if (c->cmsg_type == IPV6_HOPLIMIT) out.flow.hop_limit = static_cast<std::uint8_t>(load<int>(c));
      if (c->cmsg_type == IPV6_FLOWINFO) out.flow.flow_label = ntohl(load<std::uint32_t>(c)) & 0xfffff;
    }
  }
  return out;
}

void UdpReceiver::count_overflows(Receiver& receiver) {
  const auto fresh = static_cast<std::int32_t>(envelope_.overflows - overflows_);
  if (fresh <= 0) return;  // below 0: a packet that lay in the socket before this reader came
  overflows_ = envelope_.overflows;
  const auto packets = static_cast<std::uint32_t>(fresh);
  receiver.dropped(because(ReasonId::drop_lane_overflow, packets), ib::Counter::drop_overflow, Qpn(),
                   packets);
}

// Not while packets are shown: the tap is to see each with its identification.
bool UdpReceiver::counts_segments() const {
  return tap_ == nullptr &&
         (!envelope_.flow.destination.is_ipv4() || ids_.is_zero_based(envelope_.flow.source));
}

UdpReceiver::Segment UdpReceiver::next_segment() const {
  const std::size_t step = envelope_.segment_bytes == 0 ? datagram_.size() : envelope_.segment_bytes;
  return {datagram_.subspan(cut_, std::min(step, datagram_.size() - cut_)),
          static_cast<std::uint16_t>(cut_ / std::max<std::size_t>(step, 1))};
}

void UdpReceiver::split(Receiver& receiver, std::size_t& packets) {
  const mmsghdr& header = headers_[slot_];
  if (cut_ == 0) {
    envelope_ = open(header.msg_hdr);
    datagram_ = {static_cast<const std::byte*>(header.msg_hdr.msg_iov->iov_base), header.msg_len};
    if (envelope_.has_overflows) count_overflows(receiver);
    if (datagram_.empty()) packets += decode(receiver, {}) ? 0 : 1;
  }
  while (cut_ < datagram_.size()) {
    const Segment segment = next_segment();
    cut_ += segment.bytes.size();
    if (decode(receiver, segment)) {
      packets += join(receiver, segment);
      receiver.packet(packet_);
    }
    ++packets;
  }
}

std::size_t UdpReceiver::join(Receiver& receiver, const Segment& segment) {
  coalescer_.begin(packet_, without_icrc(segment.bytes));
  const bool in_row = counts_segments();
  bool good = true;
  while (good && cut_ < datagram_.size()) {
    const Segment next = next_segment();
    if (!coalescer_.goes_on_with(without_icrc(next.bytes))) break;
    cut_ += next.bytes.size();
    good = in_row ? intact_in_row(receiver, next) : intact(receiver, next);
    if (good) coalescer_.take();
  }
  coalescer_.join();
  return good ? 0 : 1;
}

bool UdpReceiver::decode(Receiver& receiver, const Segment& segment) {
  const Bytes bytes = segment.bytes;
  const auto malformed = [&] {
    const auto opcode = bytes.empty() ? 0 : std::to_integer<std::uint64_t>(bytes[0]);
    receiver.dropped(because(ReasonId::drop_malformed, bytes.size(), opcode), ib::Counter::drop_malformed,
                     Qpn(), 1);
    return false;
  };
  if (bytes.size() < wire::kBthBytes + wire::kIcrcBytes) return malformed();
  if (!intact(receiver, segment)) return false;
  if (!wire::parse_into(without_icrc(bytes), packet_.packet)) return malformed();
  const wire::Flow& flow = envelope_.flow;
  packet_.source = flow.source;
  packet_.destination = flow.destination;
  packet_.traffic_class = flow.traffic_class;
  packet_.hop_limit = flow.hop_limit;
  packet_.flow_label = flow.flow_label;
  packet_.interface_index = envelope_.interface_index;
  return true;
}

bool UdpReceiver::intact(Receiver& receiver, const Segment& segment) {
  IcrcCheck check;
  const bool good = check_icrc(envelope_.flow, segment.bytes, segment.position, check);
  if (tap_ != nullptr)
    tap_->packet(wire::CaptureDirection::inbound, envelope_.flow, check.id, {&segment.bytes, 1});
  if (good) return true;
  const Qpn qpn = destination_of(segment.bytes);
  const wire::Gid& source = envelope_.flow.source;
  const Reason reason =
      check.right_for_some
          ? because(ReasonId::drop_unbelieved_id, qpn.value, check.id, source.high_half(), source.low_half())
          : because(ReasonId::drop_bad_icrc, qpn.value, check.received, check.expected);
  receiver.dropped(reason, ib::Counter::drop_icrc, qpn, 1);
  return false;
}

// Nearly all segments are of this kind, so it costs no more than the CRC. What turns out
// otherwise is looked at again.
bool UdpReceiver::intact_in_row(Receiver& receiver, const Segment& segment) {
  const Bytes bytes = segment.bytes;
  std::uint32_t received;
  std::memcpy(&received, bytes.data() + bytes.size() - wire::kIcrcBytes, sizeof received);
  return icrc_of(start_.of(envelope_.flow, bytes.size()), bytes, segment.position) == received ||
         intact(receiver, segment);
}

bool UdpReceiver::check_icrc(const wire::Flow& flow, Bytes bytes, std::uint16_t position, IcrcCheck& check) {
  std::memcpy(&check.received, bytes.data() + bytes.size() - wire::kIcrcBytes, wire::kIcrcBytes);
  const wire::IcrcStart& start = start_.of(flow, bytes.size());
  const auto matches = [&](std::uint16_t id) {
    check.id = id;
    check.expected = icrc_of(start, bytes, id);
    check.right_for_some = check.expected == check.received;
    return check.right_for_some;
  };
  if (!flow.destination.is_ipv4()) return matches(0);
  const std::uint16_t guess = ids_.expected(flow.source, position);
  if (matches(guess)) return believes(flow, guess, asked_at_);
  if (guess != 0 && matches(0)) return believes(flow, 0, asked_at_);
  const int id = wire::solve_ip_id(check.expected, check.received, bytes.size());
  if (id < 0) return false;
  check.id = static_cast<std::uint16_t>(id);
  check.right_for_some = true;
  return believes(flow, check.id, monotonic_now());
}

bool UdpReceiver::believes(const wire::Flow& flow, std::uint16_t id, TimePoint before) {
  return ids_.accept(flow.source, id, {.after = empty_at_, .before = before});
}

}  // namespace softrnic::link
