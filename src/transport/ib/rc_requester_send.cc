// The sending side of the RC requester.
#include <algorithm>

#include "base/hot_path.h"
#include "base/reason_id.h"
#include "transport/ib/inbound_message.h"
#include "transport/ib/outbound.h"
#include "transport/ib/packet_builder.h"
#include "transport/ib/rc_requester.h"

namespace softrnic::ib {
namespace {

/// How long a message waits until it asks by itself whether the peer has a receive by now; and where an RNR
/// NAK would be the end of the connection.
constexpr Duration kCreditWait = std::chrono::milliseconds(4);
constexpr Duration kLastCreditWait = std::chrono::seconds(1);

}  // namespace

// What is left of the work request, or enough of it.
bool RcRequester::has_room_for(const SendEntry& entry) const {
  const PathWindow& window = *context_.window;
  if (is_answered(entry.wqe.op)) return window.has_room();
  if (window.has_much_room()) return true;
  const bool fresh = sequence_.current_is_fresh();
  const std::uint32_t sent = fresh ? 0 : offset_of(entry, sequence_.next(), mtu());
  return window.has_room() && entry.wqe.length - sent <= window.room();
}

RcRequester::SendCheck RcRequester::check_send(const SendEntry& entry) const {
  const bool fresh = sequence_.current_is_fresh();
  // IBTA 10.8.3: a fenced request waits for the READs and atomics before it.
  if (fresh && (stopping() || (entry.wqe.fence && reads_out_ > 0) || waits_for_direct(entry)))
    return SendCheck::wait;
  if (fresh && takes_receive(entry.wqe.op) && !credit_.any()) return SendCheck::no_credit;
  if (is_answered(entry.wqe.op) && reads_out_ >= context_.attributes.max_reads_out) return SendCheck::wait;
  if (!recovery_.may_send() || sequence_.next() + kLargestChunk - sequence_.una() >= Psn::kHalf)
    return SendCheck::wait;
  return context_.window == nullptr || has_room_for(entry) ? SendCheck::may_send : SendCheck::window_full;
}

// Whether it can be sent. Completes what never can; rnic should have refused it at the post.
bool RcRequester::valid(const SendWqe& wqe) {
  const bool xrc = context_.service == wire::Service::xrc;
  if (!rc_opcodes(wqe.op).supported || (xrc && !xrc_allows(wqe.op))) {
    if (is_local(wqe.op)) return false;
    const auto type = verbs_number(xrc ? QpType::xrc_initiator : QpType::rc);
    cannot_send(Status::local_qp_operation, because(ReasonId::bad_send_opcode, wqe.op, type));
    return false;
  }
  if (wqe.length > kMaxMessage) {
    cannot_send(Status::local_length, because(ReasonId::local_length, wqe.length, kMaxMessage));
    return false;
  }
  if (is_answered(wqe.op) && context_.attributes.max_reads_out == 0) {
    cannot_send(Status::local_qp_operation, because(ReasonId::read_needs_resources, wqe.op));
    return false;
  }
  return true;
}

// Binds and invalidates, when their turn has come. False: the work request at the cursor is none of these, or
// has to wait, or has failed.
SOFTRNIC_OUT_OF_LINE bool RcRequester::execute_locally() {
  if (!is_local(sequence_.current().wqe.op) || !sequence_.at_rest()) return false;
  if (const auto done = execute_front(context_.host, queue()); !done) {
    fail_front(Status::window_bind, done.error());
    return false;
  }
  sequence_.passed_by();
  return has_unsent();
}

void RcRequester::begin(SendEntry& entry, const RequestExtent& extent) {
  sequence_.begin(entry, extent.packets, extent.chunk);
  credit_.begin(entry.wqe.op);
  direct_.began_by_packets(entry.wqe);
}

Transmit RcRequester::transmit(TxPacket& out, TimePoint now) {
  if (failed()) return Transmit::idle;
  if (recovery_.take_probe()) {
    if (sequence_.in_flight() && send_probe(out)) return Transmit::packet;
    if (failed()) return Transmit::idle;
  }
  if (recovery_.waiting_rnr() || !sequence_.has_unsent()) return Transmit::idle;
  while (sequence_.current_is_fresh() && !stopping() && !valid(sequence_.current().wqe)) {
    if (failed() || !execute_locally()) return Transmit::idle;
  }
  SendEntry& entry = sequence_.current();
  if (sequence_.at_rest() && (!stopping() || direct_.under_way()) && !direct_.take_refusal()) {
    if (const auto moved = go_direct(entry)) {
      out.payload_bytes = *moved;
      return Transmit::direct;
    }
  }
  switch (check_send(entry)) {
    case SendCheck::wait:
      return Transmit::idle;
    case SendCheck::no_credit:
      wait_for_credit(now);
      return Transmit::idle;
    case SendCheck::window_full:
      return Transmit::blocked;
    case SendCheck::may_send:
      break;
  }
  if (sequence_.current_is_fresh()) begin(entry, extent_of(entry.wqe, context_));
  return send_next(entry, out, now);
}

// As long as something is in flight, its ACK will tell. Else the peer tells when a receive is posted; if it
// does not, or that is lost, the message asks itself.
void RcRequester::wait_for_credit(TimePoint now) {
  if (sequence_.awaits_answers()) return;
  credit_.wait(now + (context_.attributes.rnr_retry == 0 ? kLastCreditWait : kCreditWait));
}

Transmit RcRequester::send_next(SendEntry& entry, TxPacket& out, TimePoint now) {
  const Psn from = sequence_.next();
  const Psn stop = packet_end(entry, from, context_);
  auto built = build_request(context_, queue(), entry, from, stop, sequence_.gather_cursor(), out);
  if (!built) {
    cannot_send(Status::local_protection, built.error());
    return Transmit::idle;
  }
  sent(entry, from, stop, out, now);
  return Transmit::packet;
}

// Work requests complete in order, so a failure waits until those before it are done; transmit() tries again
// then.
void RcRequester::cannot_send(Status status, const Reason& reason) {
  if (sequence_.current_is_front()) fail_front(status, reason);
}

// A READ is asked for as it was at first. If that was lost and the probe were shorter, the peer would take
// the probe for the request, and what asks for more afterwards for no repetition of it.
bool RcRequester::send_probe(TxPacket& out) {
  SgeCursor cursor;
  const SendEntry& entry = queue().front();
  const Psn stop =
      entry.wqe.op == SendOp::read ? packet_end(entry, sequence_.una(), context_) : sequence_.una() + 1;
  auto built = build_request(context_, queue(), entry, sequence_.una(), stop, cursor, out);
  if (!built) {
    fail_front(Status::local_protection, built.error());
    return false;
  }
  out.headers.bth.ack_request = true;
  recovery_.probe_sent(sequence_.una());
  context_.host.count(Counter::retransmits);
  return true;
}

// The packets [from, stop) of the work request at the cursor leave. Returns what they take up.
std::uint32_t RcRequester::mark_in_flight(const SendEntry& entry, Psn from, Psn stop, TimePoint now) {
  const std::uint32_t cost = cost_of(entry, from, stop, mtu());
  if (!sequence_.in_flight()) recovery_.flight_begins(now, context_.attributes.timeout);
  charge_.sent(cost);
  sequence_.sent(entry, stop);
  return cost;
}

void RcRequester::sent(const SendEntry& entry, Psn from, Psn stop, TxPacket& out, TimePoint now) {
  out.again = from < sequence_.top();
  const std::uint32_t cost = mark_in_flight(entry, from, stop, now);
  const bool last_credit = stop == entry.end && takes_receive(entry.wqe.op) && !credit_.any();
  const bool awaited = recovery_.packet_sent(now) || last_credit;
  if (is_answered(entry.wqe.op)) ++reads_out_;
  out.headers.bth.ack_request = requests_ack(entry, stop, cost, awaited);
  if (out.again) {
    context_.host.count(Counter::retransmits);
  } else if (out.headers.bth.ack_request) {
    recovery_.time_packet(from, now);
  }
}

bool RcRequester::requests_ack(const SendEntry& entry, Psn stop, std::uint32_t cost, bool awaited) {
  if (awaited) {
    ack_requests_.requested();
    return true;
  }
  const bool last = stop == entry.end || is_answered(entry.wqe.op);
  const std::uint32_t rest = last ? 0 : cost_of(entry, stop, entry.end, mtu());
  return ack_requests_.sent({cost, rest, charge_.bytes()}, context_.window);
}

}  // namespace softrnic::ib
