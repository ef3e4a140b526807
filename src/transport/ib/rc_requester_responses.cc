// What the RC requester does about ACKs, NAKs and responses, and how work requests end by them.
#include <algorithm>

#include "base/reason_id.h"
#include "transport/ib/outbound.h"
#include "transport/ib/rc_requester.h"
#include "transport/ib/rx_packet.h"
#include "transport/ib/syndromes.h"
#include "transport/ib/timers.h"

namespace softrnic::ib {
namespace {

// A response answers one request at most, of a READ that is asked for in pieces one piece; that ends with a
// LAST or ONLY packet, and with no other.
bool fits(const SendEntry& entry, const RxPacket& rx, Psn psn, std::uint32_t mtu) {
  const bool atomic = rx.packet.info->operation == wire::Operation::atomic_acknowledge;
  if (!is_answered(entry.wqe.op) || atomic != is_atomic(entry.wqe.op)) return false;
  const Psn end = psn + rx.packets;
  const Psn due = chunk_end(entry, psn);
  const bool read = entry.wqe.op == SendOp::read;
  const std::size_t bytes = read ? offset_of(entry, end, mtu) - offset_of(entry, psn, mtu) : 0;
  return rx.lengths_fit(mtu) && (rx.packet.info->ends() ? end == due : end < due) &&
         rx.payload_bytes() == bytes;
}

bool is_ack(const wire::Packet& packet) {
  return packet.info->operation == wire::Operation::acknowledge &&
         wire::syndrome_kind(packet.headers.aeth.syndrome) == wire::SyndromeKind::ack;
}

}  // namespace

void RcRequester::receive(const RxPacket& rx, TimePoint now) {
  const wire::Packet& packet = rx.packet;
  const Psn psn = Psn::unwrap(packet.headers.bth.psn, sequence_.una());
  if (failed()) return;
  if (psn < sequence_.una()) {  // answers to what is long done (IBTA 9.7.5.1.1, ghost and duplicate ACKs)
    if (const auto rest = rx.behind(sequence_.una() - psn, mtu())) return receive(*rest, now);
    if (is_ack(packet)) credit_.told_again(packet.headers.aeth.syndrome, psn + 1, sequence_.una());
    return;
  }
  if (psn >= sequence_.top()) {
    context_.host.count(Counter::drop_sequence);
    return context_.host.explain(
        because(ReasonId::bad_response, packet.info->opcode, psn.wire(), packet.payload.size()), nullptr);
  }
  if (packet.info->operation == wire::Operation::acknowledge) {
    receive_acknowledge(rx, psn, now);
  } else {
    receive_response(rx, psn, now);
  }
}

void RcRequester::receive_acknowledge(const RxPacket& rx, Psn psn, TimePoint now) {
  const std::uint8_t syndrome = rx.packet.headers.aeth.syndrome;
  const bool good = rx.lengths_fit(mtu());
  switch (good ? wire::syndrome_kind(syndrome) : wire::SyndromeKind::reserved) {
    case wire::SyndromeKind::ack:
      context_.host.count(Counter::acks_received);
      acknowledge_before(psn + 1, now);
      credit_.told(syndrome);
      return;
    case wire::SyndromeKind::rnr_nak:
      return receive_rnr_nak(syndrome, psn, now);
    case wire::SyndromeKind::nak:
      return receive_nak(syndrome, psn, now);
    case wire::SyndromeKind::reserved:
      break;
  }
  context_.host.count(Counter::drop_malformed);
  context_.host.explain(because(ReasonId::bad_response, rx.wire_opcode(), psn.wire(), rx.wire_bytes()),
                        nullptr);
}

void RcRequester::receive_nak(std::uint8_t syndrome, Psn psn, TimePoint now) {
  const NakRule* fatal = fatal_nak_rule(syndrome);
  context_.host.count(fatal != nullptr ? fatal->counter : Counter::nak_sequence_received);
  if (!acknowledge_before(psn, now) || sequence_.una() != psn || failed()) return;
  if (fatal != nullptr) {
    const SendWqe& wqe = queue().front().wqe;
    static constexpr ReasonId kReasons[] = {ReasonId::got_nak_invalid_request, ReasonId::got_nak_access,
                                            ReasonId::got_nak_operational};
    const ReasonId id = kReasons[syndrome - wire::kNakInvalidRequest];
    const std::uint64_t subject =
        id == ReasonId::got_nak_access ? wqe.rkey.value : static_cast<std::uint64_t>(wqe.op);
    return fail_front(fatal->status, because(id, psn.wire(), subject, wqe.remote_address, wqe.length));
  }
  if (syndrome != wire::kNakPsnSequence || !recovery_.nak_is_news(now) || !sequence_.in_flight()) return;
  context_.host.explain(because(ReasonId::got_nak_sequence, psn.wire()), nullptr);
  go_back(LossRecovery::Cause::loss, now);
}

void RcRequester::receive_rnr_nak(std::uint8_t syndrome, Psn psn, TimePoint now) {
  context_.host.count(Counter::rnr_nak_received);
  if (!acknowledge_before(psn, now) || sequence_.una() != psn || !sequence_.in_flight() || failed()) return;
  const std::uint8_t code = syndrome & 31;
  const auto delay = std::chrono::duration_cast<std::chrono::microseconds>(rnr_delay(code));
  if (!recovery_.wait_rnr(now, code, context_.attributes)) {
    return fail_front(Status::rnr_exceeded,
                      because(ReasonId::rnr_exceeded, context_.attributes.rnr_retry + 1, psn.wire()));
  }
  context_.host.explain(because(ReasonId::got_nak_rnr, psn.wire(), delay.count()), nullptr);
  go_back(LossRecovery::Cause::receiver_not_ready, now);
}

void RcRequester::receive_response(const RxPacket& rx, Psn psn, TimePoint now) {
  // A response acknowledges every SEND and WRITE before it (IBTA 9.7.5).
  if (!acknowledge_before(psn, now) || sequence_.una() != psn || failed()) return;
  SendEntry& entry = queue().front();
  if (!fits(entry, rx, psn, mtu())) {
    return fail_front(Status::bad_response, because(ReasonId::bad_response, rx.wire_opcode(),
                                                    rx.packet.headers.bth.psn, rx.wire_bytes()));
  }
  const std::uint64_t original = rx.packet.headers.atomic_original;
  Payload data = rx.payload();
  if (is_atomic(entry.wqe.op)) data = {std::as_bytes(std::span(&original, 1)), nullptr, sizeof original};
  const LocalUse use = entry.wqe.by_host ? LocalUse::receive : LocalUse::response;
  auto done = scatter(context_.host, use, queue().sges(entry), sequence_.scatter_cursor(),
                      offset_of(entry, psn, mtu()), data);
  if (!done && done.error().id == ReasonId::payload_gone) {  // as if the response had been lost
    context_.host.count(Counter::drop_payload);
    context_.host.explain(done.error(), nullptr);
    return implied_nak(now);
  }
  if (!done) return fail_front(Status::local_protection, done.error());
  answered(entry, psn + rx.packets);
  if (rx.packet.info->has(wire::kAeth)) credit_.told(rx.packet.headers.aeth.syndrome);
  progress(rx.packet.info->position == wire::Position::only, now);
}

// Takes everything before `end` as acknowledged. False: a READ or atomic before it has not been answered, so
// its response was lost, and the requester has gone back to it (IBTA 9.7.6, implied NAK).
bool RcRequester::acknowledge_before(Psn end, TimePoint now, bool may_answer_probe) {
  const Psn before = sequence_.una();
  while (sequence_.una() < end && !queue().empty()) {
    SendEntry& entry = queue().front();
    if (is_answered(entry.wqe.op)) break;
    answered(entry, std::min(end, entry.end));
  }
  if (sequence_.una() > before) progress(may_answer_probe, now);
  if (sequence_.una() >= end) return true;
  implied_nak(now);
  return false;
}

// The packets [una, end) of the front work request have been answered.
void RcRequester::answered(SendEntry& entry, Psn end) {
  const Psn una = sequence_.una();
  const Psn next = sequence_.next();
  if (next > una) charge_.answered(cost_of(entry, una, std::min(end, next), mtu()));
  const bool counted = is_answered(entry.wqe.op) && next >= end && end == chunk_end(entry, una);
  if (counted) --reads_out_;
  if (!sequence_.answered(entry, end)) return;
  credit_.end(entry.wqe.op, end);
  complete_front(context_.host, queue(), Status::success);
}

void RcRequester::progress(bool may_answer_probe, TimePoint now) {
  const bool tail_lost =
      recovery_.progress(sequence_.una(), sequence_.in_flight(), may_answer_probe, now, context_.attributes);
  if (tail_lost) go_back(LossRecovery::Cause::loss, now);
  check_drained();
}

}  // namespace softrnic::ib
