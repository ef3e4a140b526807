#include "transport/ib/uc_endpoint.h"

#include <utility>

#include "base/reason_id.h"
#include "transport/ib/packet_builder.h"
#include "transport/ib/rx_packet.h"

namespace softrnic::ib {
namespace {

constexpr std::uint64_t kStragglers = 1U << 16;  // packets; farther behind is a peer that counts anew

}  // namespace

void UcEndpoint::start_responder(const Attributes& attributes) {
  attributes_ = attributes;
  expected_ = Psn::first(attributes.receive_psn);
  begun_ = skipping_ = false;
  message_.forget();
  set_mode(Mode::receiving);
}

void UcEndpoint::start_requester(const Attributes& attributes) {
  attributes_ = attributes;
  next_ = message_start_ = Psn::first(attributes.send_psn);
  set_mode(Mode::sending);
}

void UcEndpoint::drain() {
  set_mode(Mode::draining);
  drained_ = false;
  check_drained();
}

void UcEndpoint::check_drained() {
  if (mode_ != Mode::draining || drained_ || in_message()) return;
  drained_ = true;
  host_.event(QpEvent::send_queue_drained);
}

void UcEndpoint::flush() {
  set_mode(Mode::error);
  forget_direct();
  flush_sends();
  message_.fail_receive(Status::flushed, because(ReasonId::flushed), host_);
}

void UcEndpoint::reset() {
  set_mode(Mode::idle);
  forget_sends();
  message_.forget();
  message_start_ = next_;
  forget_direct();
  gather_cursor_ = {};
  skipping_ = drained_ = false;
}

// ---- sending

// Whether it can be sent; completes what never can.
bool UcEndpoint::valid(const SendWqe& wqe) {
  if (!uc_allows(wqe.op)) {
    if (is_local(wqe.op)) return false;
    fail_front(Status::local_qp_operation,
               because(ReasonId::bad_send_opcode, wqe.op, verbs_number(QpType::uc)));
    return false;
  }
  if (wqe.length > kMaxMessage) {
    fail_front(Status::local_length, because(ReasonId::local_length, wqe.length, kMaxMessage));
    return false;
  }
  return true;
}

// See RcRequester::execute_locally(): here nothing is ever outstanding.
bool UcEndpoint::execute_locally() {
  if (queue_.empty() || !is_local(queue_.front().wqe.op)) return false;
  if (const auto done = execute_front(host_, queue_); !done) {
    fail_front(Status::window_bind, done.error());
    return false;
  }
  return !queue_.empty();
}

Transmit UcEndpoint::transmit(TxPacket& packet, TimePoint now) {
  if (mode_ == Mode::error) flush_sends();
  if (queue_.empty() || !may_send() || (mode_ == Mode::draining && !in_message())) return Transmit::idle;
  while (!in_message() && !valid(queue_.front().wqe)) {
    if (!execute_locally()) return Transmit::idle;
  }
  const SendEntry& entry = queue_.front();
  if (next_ == message_start_ && !std::exchange(refused_at_once_, false)) {
    if (const auto moved = go_direct(entry)) {
      packet.payload_bytes = *moved;
      return Transmit::direct;
    }
  }
  const Psn end = message_start_ + packets_of(entry.wqe.length, attributes_.path_mtu);
  const Psn stop = std::min(end, next_ + packets_at_once());
  const bool last = stop == end;
  auto built = build(entry, stop, last, packet);
  if (!built) {
    fail_front(Status::local_protection, built.error());
    return Transmit::idle;
  }
  if (!may_leave(packet, window_, now)) return Transmit::idle;
  next_ = stop;
  if (last) {
    message_start_ = next_;
    gather_cursor_ = {};
    forget_direct();
    complete_front(host_, queue_, Status::success);
    check_drained();
  }
  return out(packet);
}

// On a network each is admitted by itself: there the receiver's buffer counts datagrams.
std::uint32_t UcEndpoint::packets_at_once() const {
  return window_ != nullptr && !window_->has_mtu() ? window_->packets_at_once(attributes_.path_mtu) : 1;
}

Expected<void, Reason> UcEndpoint::build(const SendEntry& entry, Psn stop, bool last, TxPacket& packet) {
  const SendWqe& wqe = entry.wqe;
  begin_packet(packet, attributes_, to_uc(rc_opcodes(wqe.op).at(next_ == message_start_, last)), next_);
  packet.headers.reth = {wqe.remote_address, wqe.rkey, wqe.length};
  packet.headers.bth.solicited = last && wqe.solicited && wqe.op != SendOp::write;
  packet.headers.immediate = wqe.immediate;
  packet.packets = static_cast<std::uint32_t>(stop - next_);
  const std::uint64_t offset = (next_ - message_start_) * attributes_.path_mtu;
  return add_payload(host_, queue_, entry, static_cast<std::uint32_t>(offset),
                     packet.packets * attributes_.path_mtu, gather_cursor_, packet);
}

// Without packets (see Host::direct): the peer must have seen all packets that were sent before, and PSNs
// stay as they are. Returns the bytes that went.
std::optional<std::uint32_t> UcEndpoint::go_direct(const SendEntry& entry) {
  const auto moved =
      host_.direct({entry.wqe, queue_.sges(entry), queue_.inline_data(entry), direct_bytes_, next_.wire()});
  if (!moved) {
    direct_bytes_ = 0;
    return std::nullopt;
  }
  direct_begun_ = true;
  direct_bytes_ += *moved;
  if (direct_bytes_ < entry.wqe.length) return moved;
  forget_direct();
  complete_front(host_, queue_, Status::success);
  check_drained();
  return moved;
}

bool UcEndpoint::go_at_once() {
  if (mode_ != Mode::sending || queue_.size() != 1 || in_message()) return false;
  if (queue_.front().wqe.op != SendOp::write) return false;
  refused_at_once_ = !go_direct(queue_.front());
  return !refused_at_once_ && queue_.empty();
}

void UcEndpoint::forget_direct() {
  direct_begun_ = refused_at_once_ = false;
  direct_bytes_ = 0;
}

void UcEndpoint::fail_front(Status status, const Reason& reason) {
  set_mode(Mode::error);
  complete_front(host_, queue_, status, reason);
  flush();
}

// ---- receiving

bool UcEndpoint::lacks_receive(const RxPacket& rx) {
  const wire::OpcodeInfo& info = *rx.packet.info;
  const bool lost_already = skipping_ && !info.starts();
  return InboundMessage::needs_receive(info) && !lost_already && is_for_us(rx) &&
         message_.take_receive(host_) == nullptr;
}

void UcEndpoint::receive(const RxPacket& rx, TimePoint) {
  if (!admit(rx)) return;
  const auto known = begun_ ? expected_ - Psn::unwrap(rx.packet.headers.bth.psn, expected_) : 0;
  const auto rest = known > 0 ? rx.behind(known, attributes_.path_mtu) : std::nullopt;
  if (rest) host_.count(Counter::duplicates);
  take(rest ? *rest : rx);
}

void UcEndpoint::take(const RxPacket& rx) {
  if (!in_sequence(rx)) return;
  const Verdict verdict = message_.place(rx, attributes_, host_);
  if (!verdict) drop(verdict, rx.packet);
}

// IBTA 9.8.2.2.1: whatever PSN comes is the new base; a gap spoils the message up to the next FIRST or ONLY.
// Unlike an InfiniBand subnet, IP networks copy and reorder packets: one that lies a little behind is a copy
// or a straggler, and UC delivers no message twice and none after a later one.
bool UcEndpoint::in_sequence(const RxPacket& rx) {
  const wire::Packet& packet = rx.packet;
  const Psn psn = Psn::unwrap(packet.headers.bth.psn, expected_);
  if (begun_ && psn < expected_ && expected_ - psn <= kStragglers) {
    host_.count(Counter::duplicates);
    return false;
  }
  begun_ = true;
  const bool gap = psn != expected_;
  const Psn due = expected_;
  expected_ = psn + rx.packets;
  if (gap) {
    host_.count(Counter::out_of_sequence);
    if (message_.active() || !packet.info->starts()) {
      host_.count(Counter::drop_sequence);
      if (!skipping_) host_.explain(because(ReasonId::drop_uc_sequence, psn.wire(), due.wire()), nullptr);
      message_.abandon();
      skipping_ = true;
    }
  }
  if (packet.info->starts()) {
    skipping_ = false;
    return true;
  }
  return !skipping_;
}

// IBTA 9.8.3: a UC responder tells nobody; it drops the message. Trouble with its own receive ends the QP.
void UcEndpoint::drop(const Verdict& verdict, const wire::Packet& packet) {
  const FaultRule& rule = fault_rule(verdict.fault);
  const bool own_fault = verdict.fault == Fault::receive_short || verdict.fault == Fault::receive_memory;
  host_.count(rule.drop_counter);
  if (verdict.fault == Fault::no_receive) {
    host_.explain(because(ReasonId::drop_uc_no_receive, packet.headers.bth.psn, packet.info->opcode),
                  nullptr);
  } else {
    host_.explain(verdict.reason, own_fault ? message_.receive_id() : nullptr);
  }
  if (verdict.fault != Fault::payload_gone) InboundMessage::count_refused(*packet.info, host_);
  message_.abandon();
  skipping_ = !packet.info->ends();
  if (!own_fault) return;
  set_mode(Mode::error);
  message_.fail_receive(rule.receive_status, verdict.reason, host_);
  flush();
}

}  // namespace softrnic::ib
