#include "link/fabric_sender.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/reason_id.h"

namespace softrnic::link {
namespace {

Bytes bytes_of(const ib::Fragment& fragment) { return {fragment.data, fragment.size}; }

}  // namespace

wire::Lid FabricSender::lid_of(std::uint32_t port) const {
  const auto own = std::find_if(addresses_.begin(), addresses_.end(), [&](const device::GidEntry& entry) {
    return entry.interface_index == port && entry.gid.is_lid();
  });
  return own != addresses_.end() ? own->gid.lid() : wire::kReservedLid;
}

wire::RouteHeaders FabricSender::route_of(const ib::AddressVector& path) const {
  wire::RouteHeaders route;
  route.local.sl = path.service_level;
  route.local.dlid = path.dlid;
  route.local.slid =
      wire::Lid(static_cast<std::uint16_t>(lid_of(path.interface_index).value | path.source_path_bits));
  if (path.destination.is_lid()) return route;
  wire::Grh& grh = route.global.emplace();
  grh.traffic_class = path.traffic_class;
  grh.flow_label = path.flow_label;
  grh.hop_limit = path.hop_limit;
  grh.sgid = path.source;
  grh.dgid = path.destination;
  return route;
}

// Packets of a port stay in order: they go to its last message, or to a new one behind that.
FabricSender::Message* FabricSender::message_for(std::uint8_t port, std::size_t bytes) {
  for (std::size_t i = filled_; i-- > sent_;) {
    if (messages_[i].port != port) continue;
    if (messages_[i].size + bytes <= kMaxFabricMessage) return &messages_[i];
    break;
  }
  if (filled_ - sent_ >= kMany) send_messages();
  return filled_ < kMessages ? open_message(port) : nullptr;
}

FabricSender::Message* FabricSender::open_message(std::uint8_t port) {
  Message& fresh = messages_[filled_];
  if (fresh.bytes == nullptr) fresh.bytes = std::make_unique_for_overwrite<std::byte[]>(kMaxFabricMessage);
  const FabricHeader header{FabricMessageType::frames, port, 0};
  std::memcpy(fresh.bytes.get(), &header, sizeof header);
  fresh.size = sizeof header;
  fresh.port = port;
  fresh.packets = 0;
  ++filled_;
  return &fresh;
}

MutableBytes FabricSender::add(const ib::TxPacket& packet) {
  const ib::AddressVector& path = *packet.path;
  const wire::RouteHeaders route = route_of(path);
  const std::size_t bytes =
      wire::infiniband_frame_bytes(route, packet.headers.bth.opcode, packet.payload_bytes);
  Message* const message = message_for(static_cast<std::uint8_t>(path.interface_index), bytes);
  if (message == nullptr) {
    lose(packet.headers.bth.destination, ENOBUFS, 1);
    return {};
  }
  Bytes payload[ib::TxPacket::kMaxFragments];
  std::transform(packet.fragments, packet.fragments + packet.fragment_count, payload, bytes_of);
  const MutableBytes frame(message->bytes.get() + message->size, bytes);
  const std::size_t written = wire::encode_infiniband_frame(
      route, packet.headers, {payload, packet.fragment_count}, frame, wire::Vcrc::left_zero);
  if (written == 0) {
    lose(packet.headers.bth.destination, EMSGSIZE, 1);
    return {};
  }
  message->size += written;
  ++message->packets;
  return frame.first(written);
}

void FabricSender::send(const ib::TxPacket& packet) {
  for_each_packet(packet, segmenter_, [this](const ib::TxPacket& part) {
    const MutableBytes frame = add(part);
    if (tap_ != nullptr && !frame.empty()) tap_->frame(wire::CaptureDirection::outbound, frame);
  });
}

void FabricSender::send_damaged(const ib::TxPacket& packet, std::uint32_t bit) {
  for_each_packet(packet, segmenter_, [&](const ib::TxPacket& part) {
    const MutableBytes frame = add(part);
    if (frame.empty()) return;
    // The LRH stays as it is: who damages that has lost the packet, which is another fault.
    const MutableBytes behind =
        frame.subspan(wire::kLrhBytes, frame.size() - wire::kLrhBytes - wire::kVcrcBytes);
    behind[(bit / 8) % behind.size()] ^= static_cast<std::byte>(1U << (bit % 8));
    if (tap_ != nullptr) tap_->frame(wire::CaptureDirection::outbound, frame);
  });
}

void FabricSender::flush() {
  send_messages();
  if (tap_ != nullptr) tap_->flush();
}

void FabricSender::send_messages() {
  while (sent_ != filled_ && send_message(messages_[sent_])) ++sent_;
  if (sent_ == filled_) sent_ = filled_ = 0;
  full_.store(filled_ != 0, std::memory_order_relaxed);
}

bool FabricSender::send_message(const Message& message) {
  const int error = send_fabric_message(fd_, {message.bytes.get(), message.size});
  if (error == EAGAIN) return false;
  if (error != 0) lose(Qpn(), error, message.packets);
  return true;
}

void FabricSender::lose(Qpn destination, int error, std::uint64_t packets) {
  lost_ += packets;
  lost_for_ = destination;
  error_ = error;
}

void FabricSender::report(Receiver& receiver) {
  if (lost_ == 0) return;
  receiver.dropped(because(ReasonId::send_failed, error_), ib::Counter::send_errors, lost_for_, lost_);
  lost_ = 0;
}

}  // namespace softrnic::link
