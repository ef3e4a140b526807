#include "transport/ib/raw_packet_endpoint.h"

#include <cstring>

#include "base/reason_id.h"
#include "ethernet/checksum.h"
#include "transport/ib/packet_builder.h"
#include "transport/ib/rx_packet.h"

namespace softrnic::ib {
namespace {

constexpr std::uint32_t kEthernetHeader = 14;

}  // namespace

void RawPacketEndpoint::start_responder(const Attributes& attributes) {
  attributes_ = attributes;
  placement_.reset();
  set_mode(Mode::receiving);
}

void RawPacketEndpoint::start_requester(const Attributes& attributes) {
  attributes_ = attributes;
  set_mode(Mode::sending);
}

// A frame is done as soon as it has left.
void RawPacketEndpoint::drain() {
  set_mode(Mode::draining);
  host_.event(QpEvent::send_queue_drained);
}

void RawPacketEndpoint::flush() {
  set_mode(Mode::error);
  cutter_.reset();
  flush_sends();
  placement_.flush(host_);
}

void RawPacketEndpoint::reset() {
  set_mode(Mode::idle);
  cutter_.reset();
  forget_sends();
  placement_.reset();
}

// ---- sending

bool RawPacketEndpoint::valid(const SendWqe& wqe) {
  if (wqe.op != SendOp::send) {
    fail_front(Status::local_qp_operation,
               because(ReasonId::bad_send_opcode, wqe.op, verbs_number(QpType::raw_packet)));
    return false;
  }
  if (wqe.length < kEthernetHeader) {
    fail_front(Status::local_length, because(ReasonId::frame_too_short, wqe.length));
    return false;
  }
  if (wqe.length > attributes_.path_mtu) {
    fail_front(Status::local_length, because(ReasonId::frame_too_long, wqe.length, attributes_.path_mtu));
    return false;
  }
  return true;
}

Transmit RawPacketEndpoint::transmit(TxPacket& packet, TimePoint) {
  if (in_error()) flush_sends();
  if (queue_.empty() || mode_ != Mode::sending) return Transmit::idle;
  const SendEntry& entry = queue_.front();
  if (entry.wqe.op == SendOp::tso) return transmit_segment(packet);
  if (!valid(entry.wqe)) return Transmit::idle;
  if (auto built = build(entry, packet); !built) {
    fail_front(Status::local_protection, built.error());
    return Transmit::idle;
  }
  complete_front(host_, queue_, Status::success);
  return out(packet);
}

// One frame of it a call; it is done with the last.
Transmit RawPacketEndpoint::transmit_segment(TxPacket& packet) {
  begin_packet(packet, attributes_, wire::Opcode::ud_send_only, Psn::first(0));
  packet.is_frame = true;
  const SendEntry& entry = queue_.front();
  if (!cutter_.busy()) {
    const std::uint32_t longest = std::uint32_t{entry.wqe.header_bytes} + entry.wqe.segment_bytes;
    if (longest > attributes_.path_mtu) {
      fail_front(Status::local_length, because(ReasonId::frame_too_long, longest, attributes_.path_mtu));
      return Transmit::idle;
    }
    if (auto begun = begin_cutting(entry, packet); !begun) {
      const bool no_tcp = begun.error().id == ReasonId::tso_header;
      fail_front(no_tcp ? Status::local_qp_operation : Status::local_protection, begun.error());
      return Transmit::idle;
    }
  }
  const Bytes frame = cutter_.next();
  packet.fragments[0] = {frame.data(), frame.size(), MemoryKey()};
  packet.fragment_count = 1;
  packet.payload_bytes = static_cast<std::uint32_t>(frame.size());
  if (!cutter_.busy()) complete_front(host_, queue_, Status::success);
  return out(packet);
}

Expected<void, Reason> RawPacketEndpoint::begin_cutting(const SendEntry& entry, TxPacket& packet) {
  SgeCursor cursor;
  auto added = add_payload(host_, queue_, entry, 0, entry.wqe.length, cursor, packet);
  if (!added) return added;
  const std::span<const Fragment> payload{packet.fragments, packet.fragment_count};
  if (!cutter_.begin(queue_.header(entry), payload, entry.wqe.segment_bytes))
    return Unexpected{because(ReasonId::tso_header, entry.wqe.header_bytes, entry.wqe.segment_bytes)};
  return {};
}

Expected<void, Reason> RawPacketEndpoint::build(const SendEntry& entry, TxPacket& packet) {
  begin_packet(packet, attributes_, wire::Opcode::ud_send_only, Psn::first(0));
  packet.is_frame = true;
  SgeCursor cursor;
  auto added = add_payload(host_, queue_, entry, 0, entry.wqe.length, cursor, packet);
  return added && entry.wqe.fills_checksums ? fill_checksums(packet) : added;
}

// The program's memory stays as it is, so the frame is copied.
Expected<void, Reason> RawPacketEndpoint::fill_checksums(TxPacket& packet) {
  std::byte* const frame = host_.bounce_buffer(packet.payload_bytes);
  if (frame == nullptr) return Unexpected{because(ReasonId::out_of_memory, packet.payload_bytes)};
  std::size_t at = 0;
  for (std::size_t i = 0; i < packet.fragment_count; ++i) {
    const Fragment& from = packet.fragments[i];
    std::memmove(frame + at, from.data, from.size);  // on-demand memory has been copied there already
    at += from.size;
  }
  const MutableBytes bytes{frame, packet.payload_bytes};
  ethernet::fill_checksums(bytes, ethernet::parse(bytes));
  packet.fragments[0] = {frame, packet.payload_bytes, MemoryKey()};
  packet.fragment_count = 1;
  return {};
}

// As of UD: a frame that cannot go stops the send queue only.
void RawPacketEndpoint::fail_front(Status status, const Reason& reason) {
  set_mode(Mode::send_error);
  complete_front(host_, queue_, status, reason);
  flush_sends();
}

// ---- receiving

void RawPacketEndpoint::receive(const RxPacket& packet, TimePoint) {
  refuse(Counter::drop_service, because(ReasonId::drop_wrong_service, packet.packet.info->opcode));
}

void RawPacketEndpoint::receive_frame(const InboundFrame& frame) {
  if (mode_ == Mode::idle || mode_ == Mode::error) return host_.count(Counter::drop_not_ready);
  if (placement_.receive(host_, frame)) return;
  set_mode(Mode::error);
  flush();
}

}  // namespace softrnic::ib
