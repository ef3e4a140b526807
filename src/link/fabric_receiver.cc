#include "link/fabric_receiver.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "base/reason_id.h"
#include "wire/fields.h"

namespace softrnic::link {
namespace {

constexpr std::size_t kFrameEnd = wire::kIcrcBytes + wire::kVcrcBytes;

// BTH to pad, as the coalescer has it; empty where the frame is too short for that.
Bytes transport_of(Bytes frame) {
  const auto lrh = wire::decode_link_header(frame.first<wire::kLrhBytes>());
  const bool global = lrh.next_header == wire::LinkNextHeader::iba_global;
  const std::size_t before = wire::kLrhBytes + (global ? wire::kGrhBytes : 0);
  if (frame.size() < before + kFrameEnd) return {};
  return frame.subspan(before, frame.size() - before - kFrameEnd);
}

// Whether both have come by one path: what the coalescer does not look at.
bool same_route(Bytes a, Bytes b) {
  constexpr std::size_t kWithoutLength = 4;  // VL to DLID
  constexpr std::size_t kSlid = 6;
  if (std::memcmp(a.data(), b.data(), kWithoutLength) != 0) return false;
  return load_be16(&a[kSlid]) == load_be16(&b[kSlid]);
}

}  // namespace

FabricReceiver::FabricReceiver(int fd) : fd_(fd) {
  void* mapped = mmap(nullptr, kSlots * kMaxFabricMessage, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped != MAP_FAILED) pool_ = static_cast<std::byte*>(mapped);
  for (std::size_t i = 0; i < kSlots; ++i) {
    pieces_[i] = {pool_ + i * kMaxFabricMessage, kMaxFabricMessage};
    headers_[i] = mmsghdr{};
    headers_[i].msg_hdr.msg_iov = &pieces_[i];
    headers_[i].msg_hdr.msg_iovlen = 1;
  }
}

FabricReceiver::~FabricReceiver() {
  if (pool_ != nullptr) munmap(pool_, kSlots * kMaxFabricMessage);
}

void FabricReceiver::fill() {
  if (slot_ < filled_) return;
  const int count = recvmmsg(fd_, headers_.data(), kSlots, MSG_DONTWAIT, nullptr);
  filled_ = static_cast<std::size_t>(std::max(count, 0));
  slot_ = 0;
  rest_ = {};
}

std::size_t FabricReceiver::receive(Receiver& receiver) {
  if (pool_ == nullptr) return 0;
  fill();
  std::size_t packets = 0;
  for (; slot_ < filled_; ++slot_, rest_ = {}) take_apart(receiver, packets);
  if (tap_ != nullptr && packets != 0) tap_->flush();
  return packets;
}

void FabricReceiver::take_apart(Receiver& receiver, std::size_t& packets) {
  if (rest_.empty()) {
    const Bytes message(pool_ + slot_ * kMaxFabricMessage, headers_[slot_].msg_len);
    if (message.empty()) at_end_.store(true, std::memory_order_relaxed);
    if (message.size() < sizeof header_) return;
    std::memcpy(&header_, message.data(), sizeof header_);
    if (header_.type != FabricMessageType::frames) return;
    rest_ = message.subspan(sizeof header_);
  }
  while (!rest_.empty()) {
    const Bytes frame = next_frame();
    if (decode(receiver, frame)) {
      packets += join(receiver, frame);
      receiver.packet(packet_);
    }
    ++packets;
  }
}

Bytes FabricReceiver::next_frame() {
  std::size_t size = rest_.size();
  if (size >= wire::kLrhBytes) {
    const auto lrh = wire::decode_link_header(rest_.first<wire::kLrhBytes>());
    size = std::min(size, std::max(lrh.bytes_before_vcrc() + wire::kVcrcBytes, wire::kLrhBytes));
  }
  const Bytes frame = rest_.first(size);
  rest_ = rest_.subspan(size);
  return frame;
}

std::size_t FabricReceiver::join(Receiver& receiver, Bytes frame) {
  coalescer_.begin(packet_, transport_of(frame));
  bool good = true;
  while (good && rest_.size() >= wire::kLrhBytes && same_route(frame, rest_)) {
    const Bytes before = rest_;
    const Bytes next = next_frame();
    if (!coalescer_.goes_on_with(transport_of(next))) {
      rest_ = before;
      break;
    }
    good = intact(receiver, next);
    if (good) coalescer_.take();
  }
  coalescer_.join();
  return good ? 0 : 1;
}

bool FabricReceiver::decode(Receiver& receiver, Bytes frame) {
  if (!wire::parse_infiniband_frame_into(frame, frame_)) {
    const auto opcode = frame.empty() ? 0 : std::to_integer<std::uint64_t>(frame[0]);
    receiver.dropped(because(ReasonId::drop_malformed, frame.size(), opcode), ib::Counter::drop_malformed,
                     Qpn(), 1);
    return false;
  }
  if (!intact(receiver, frame)) return false;
  const wire::LinkHeader& lrh = frame_.route.local;
  packet_.packet = frame_.packet;
  packet_.interface_index = header_.port;
  packet_.slid = lrh.slid;
  packet_.dlid = lrh.dlid;
  packet_.service_level = lrh.sl;
  packet_.source = wire::Gid::of_lid(lrh.slid);
  packet_.destination = wire::Gid::of_lid(lrh.dlid);
  if (!frame_.route.global) return true;
  const wire::Grh& grh = *frame_.route.global;
  packet_.source = grh.sgid;
  packet_.destination = grh.dgid;
  packet_.traffic_class = grh.traffic_class;
  packet_.hop_limit = grh.hop_limit;
  packet_.flow_label = grh.flow_label;
  return true;
}

bool FabricReceiver::intact(Receiver& receiver, Bytes frame) {
  if (tap_ != nullptr) tap_->frame(wire::CaptureDirection::inbound, frame);
  if (wire::has_right_icrc(frame)) return true;
  const Bytes transport = transport_of(frame);
  const bool has_bth = transport.size() >= wire::kBthBytes;
  const Qpn qpn(has_bth ? wire::field::Bth::Destination::load(transport.data()) : 0);
  receiver.dropped(because(ReasonId::drop_bad_icrc, qpn.value), ib::Counter::drop_icrc, qpn, 1);
  return false;
}

}  // namespace softrnic::link
