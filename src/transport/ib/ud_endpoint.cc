#include "transport/ib/ud_endpoint.h"

#include "base/reason_id.h"
#include "transport/ib/datagram_header.h"
#include "transport/ib/failed_receive.h"
#include "transport/ib/packet_builder.h"
#include "transport/ib/rx_packet.h"

namespace softrnic::ib {

void UdEndpoint::start_responder(const Attributes& attributes) {
  attributes_ = attributes;
  receive_ = nullptr;
  set_mode(Mode::receiving);
}

void UdEndpoint::start_requester(const Attributes& attributes) {
  attributes_ = attributes;
  psn_ = Psn::first(attributes.send_psn);
  set_mode(Mode::sending);
}

// A datagram is done as soon as it has left, so nothing is ever under way.
void UdEndpoint::drain() {
  set_mode(Mode::draining);
  host_.event(QpEvent::send_queue_drained);
}

void UdEndpoint::flush() {
  set_mode(Mode::error);
  flush_sends();
  if (receive_ != nullptr) fail_receive(Status::flushed, because(ReasonId::flushed));
}

void UdEndpoint::reset() {
  set_mode(Mode::idle);
  forget_sends();
  receive_ = nullptr;
}

// ---- sending

bool UdEndpoint::valid(const SendWqe& wqe) {
  if (wqe.op != SendOp::send && wqe.op != SendOp::send_with_imm) {
    fail_front(Status::local_qp_operation,
               because(ReasonId::bad_send_opcode, wqe.op, verbs_number(QpType::ud)));
    return false;
  }
  if (wqe.length > attributes_.path_mtu) {
    fail_front(Status::local_length, because(ReasonId::local_length, wqe.length, attributes_.path_mtu));
    return false;
  }
  return true;
}

Transmit UdEndpoint::transmit(TxPacket& packet, TimePoint now) {
  if (in_error()) flush_sends();
  if (queue_.empty() || mode_ != Mode::sending) return Transmit::idle;
  const SendEntry& entry = queue_.front();
  if (!valid(entry.wqe)) return Transmit::idle;
  auto built = build(entry, packet);
  if (!built) {
    fail_front(Status::local_protection, built.error());
    return Transmit::idle;
  }
  if (!may_leave(packet, window_to(entry.wqe), now)) return Transmit::idle;
  ++psn_;
  complete_front(host_, queue_, Status::success);
  return out(packet);
}

PathWindow* UdEndpoint::window_to(const SendWqe& wqe) const {
  PathWindow* own = host_.window_to(wqe.address, wqe.remote_qpn);
  return own != nullptr ? own : window_;
}

Expected<void, Reason> UdEndpoint::build(const SendEntry& entry, TxPacket& packet) {
  const SendWqe& wqe = entry.wqe;
  const bool immediate = wqe.op == SendOp::send_with_imm;
  begin_packet(packet, attributes_, immediate ? wire::Opcode::ud_send_only_imm : wire::Opcode::ud_send_only,
               psn_);
  packet.path = &wqe.address;
  packet.headers.bth.destination = wqe.remote_qpn;
  packet.headers.bth.solicited = wqe.solicited;
  packet.headers.deth.qkey = wqe.remote_qkey;
  packet.headers.deth.source = attributes_.local;
  packet.headers.immediate = wqe.immediate;
  SgeCursor cursor;
  return add_payload(host_, queue_, entry, 0, attributes_.path_mtu, cursor, packet);
}

// IBTA 10.3.1.6: a failed datagram stops the send queue only.
void UdEndpoint::fail_front(Status status, const Reason& reason) {
  set_mode(Mode::send_error);
  complete_front(host_, queue_, status, reason);
  flush_sends();
}

// ---- receiving

bool UdEndpoint::lacks_receive(const RxPacket& rx) {
  if (receive_ != nullptr || !is_for_us(rx) || rx.packet.headers.deth.qkey != attributes_.qkey) return false;
  receive_ = host_.take_receive();
  return receive_ == nullptr;
}

void UdEndpoint::receive(const RxPacket& rx, TimePoint) {
  if (!admit(rx)) return;
  const wire::Headers& headers = rx.packet.headers;
  const std::size_t size = rx.payload_bytes() + wire::kGrhBytes;
  if (headers.deth.qkey != attributes_.qkey) {  // IBTA C9-49
    host_.count(Counter::drop_qkey);
    return host_.explain(
        because(ReasonId::drop_qkey_mismatch, headers.deth.qkey, attributes_.qkey, headers.deth.source.value),
        nullptr);
  }
  if (receive_ == nullptr) receive_ = host_.take_receive();
  if (receive_ == nullptr) {
    host_.count(Counter::drop_no_receive);
    return host_.explain(
        because(ReasonId::drop_ud_no_receive, size - wire::kGrhBytes, headers.deth.source.value), nullptr);
  }
  if (size > receive_->length) {
    host_.count(Counter::drop_length);
    return host_.explain(because(ReasonId::drop_ud_too_long, size, receive_->length), &receive_->wr_id);
  }
  place(rx);
}

// The 40 bytes of a packet without a GRH have no content (IBTA 11.4.2.1): they are left as they are.
Expected<void, Reason> UdEndpoint::place_header(const RxPacket& rx, SgeCursor& cursor) {
  if (!rx.has_global_route()) return {};
  const auto grh = datagram_header(rx);
  return scatter(host_, LocalUse::receive, receive_->sges, cursor, 0, {grh, nullptr, grh.size()});
}

void UdEndpoint::place(const RxPacket& rx) {
  SgeCursor cursor;
  auto done = place_header(rx, cursor);
  if (done) done = scatter(host_, LocalUse::receive, receive_->sges, cursor, wire::kGrhBytes, rx.payload());
  if (!done && done.error().id == ReasonId::payload_gone) {  // as if it had been lost on the way
    host_.count(Counter::drop_payload);
    return host_.explain(done.error(), nullptr);
  }
  if (!done) {
    host_.explain(done.error(), &receive_->wr_id);
    set_mode(Mode::error);
    fail_receive(Status::local_protection, done.error());
    return flush();
  }
  const wire::Headers& headers = rx.packet.headers;
  RecvDone recv;
  recv.wr_id = receive_->wr_id;
  recv.has_immediate = rx.packet.info->has(wire::kImmDt);
  recv.has_grh = rx.has_global_route();
  recv.solicited = headers.bth.solicited;
  recv.immediate = headers.immediate;
  recv.length = static_cast<std::uint32_t>(rx.payload_bytes() + wire::kGrhBytes);
  recv.source = headers.deth.source;
  recv.service_level = rx.is_infiniband() ? rx.service_level : network_header_code(rx);
  recv.slid = rx.slid;
  recv.dlid = rx.dlid;
  receive_ = nullptr;
  host_.complete(recv);
}

void UdEndpoint::fail_receive(Status status, const Reason& reason) {
  const RecvDone done = failed_receive(receive_->wr_id, status, reason);
  receive_ = nullptr;
  host_.complete(done);
}

}  // namespace softrnic::ib
