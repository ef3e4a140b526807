// The sending side of the RC requester.
#include <algorithm>

#include "base/hot_path.h"
#include "transport/ib/inbound_message.h"
#include "transport/ib/outbound.h"
#include "transport/ib/packet_builder.h"
#include "transport/ib/rc_requester.h"

namespace softrnic::ib {
namespace {

// Bytes one READ request asks for at least, if there are as many
constexpr std::uint32_t kSmallestChunk = 16 * 1024;
constexpr std::uint32_t kLargestChunk = 1U << 20;  // packets; well inside the PSN validity window

}  // namespace

bool RcRequester::is_read_or_atomic(const SendEntry& entry) const {
  return ib::is_read_or_atomic(entry.wqe.op);
}

std::uint32_t RcRequester::offset_of(const SendEntry& entry, Psn psn) const {
  const std::uint64_t offset = (psn - entry.first) * context_.attributes.path_mtu;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(offset, entry.wqe.length));
}

// What the packets [from, stop) of a message, or of its READ responses, take up on their way.
std::uint32_t RcRequester::cost_of(const SendEntry& entry, Psn from, Psn stop) const {
  return offset_of(entry, stop) - offset_of(entry, from) +
         static_cast<std::uint32_t>(stop - from) * kPacketOverhead;
}

// A READ is asked for in pieces that begin at multiples of `chunk` packets. A re-request never crosses such a
// border, so that the responder finds it to be a part of one request it knows (IBTA 9.7.5.1.4).
Psn RcRequester::chunk_end(const SendEntry& entry, Psn psn) const {
  const std::uint64_t packet = psn - entry.first;
  return std::min(entry.end, entry.first + (packet / entry.chunk + 1) * entry.chunk);
}

// Where the packet that begins at `psn` ends: one further, or as far as the path lets it go.
Psn RcRequester::packet_end(const SendEntry& entry, Psn psn) const {
  if (entry.wqe.op == SendOp::read) return chunk_end(entry, psn);
  if (context_.window == nullptr || is_read_or_atomic(entry)) return psn + 1;
  return std::min(entry.end, psn + context_.window->packets_at_once(context_.attributes.path_mtu));
}

SendSlot RcRequester::reserve() {
  if (queue_.empty()) {
    queue_.clear();
    cursor_ = begun_ = 0;
    gather_cursor_ = {};
  }
  return queue_.reserve();
}

// What is left of the work request, or enough of it.
bool RcRequester::has_room_for(const SendEntry& entry) const {
  const PathWindow& window = *context_.window;
  if (is_read_or_atomic(entry)) return window.has_room();
  if (window.has_much_room()) return true;
  const bool fresh = cursor_ == begun_;
  const std::uint32_t sent = fresh ? 0 : offset_of(entry, next_);
  return window.has_room() && entry.wqe.length - sent <= window.room();
}

RcRequester::SendCheck RcRequester::check_send(const SendEntry& entry) const {
  const bool fresh = cursor_ == begun_;
  // IBTA 10.8.3: a fenced request waits for the READs and atomics before it.
  if (fresh && (stopping() || (entry.wqe.fence && reads_out_ > 0) || waits_for_direct(entry)))
    return SendCheck::wait;
  if (is_read_or_atomic(entry) && reads_out_ >= context_.attributes.max_reads_out) return SendCheck::wait;
  if (!recovery_.may_send() || next_ + kLargestChunk - una_ >= Psn::kHalf) return SendCheck::wait;
  return context_.window == nullptr || has_room_for(entry) ? SendCheck::may_send : SendCheck::window_full;
}

// Whether it can be sent. Completes what never can; rnic should have refused it at the post.
bool RcRequester::valid(const SendWqe& wqe) {
  if (!rc_opcodes(wqe.op).supported) {
    if (is_local(wqe.op)) return false;
    cannot_send(Status::local_qp_operation,
                because(ReasonId::bad_send_opcode, wqe.op, verbs_number(QpType::rc)));
    return false;
  }
  if (wqe.length > kMaxMessage) {
    cannot_send(Status::local_length, because(ReasonId::local_length, wqe.length, kMaxMessage));
    return false;
  }
  if (ib::is_read_or_atomic(wqe.op) && context_.attributes.max_reads_out == 0) {
    cannot_send(Status::local_qp_operation, because(ReasonId::read_needs_resources, wqe.op));
    return false;
  }
  return true;
}

// Binds and invalidates, when their turn has come. False: the work request at the cursor is none of these, or
// has to wait, or has failed.
SOFTRNIC_OUT_OF_LINE bool RcRequester::execute_locally() {
  if (!is_local(queue_.at(cursor_).wqe.op) || !nothing_in_flight()) return false;
  if (const auto done = execute_front(context_.host, queue_); !done) {
    fail_front(Status::window_bind, done.error());
    return false;
  }
  ++cursor_;
  ++begun_;
  return has_unsent();
}

void RcRequester::begin(SendEntry& entry) {
  const std::uint32_t mtu = context_.attributes.path_mtu;
  entry.first = assigned_;
  entry.end = assigned_ + (is_atomic(entry.wqe.op) ? 1 : packets_of(entry.wqe.length, mtu));
  entry.chunk = kLargestChunk;
  if (entry.wqe.op == SendOp::read && context_.window != nullptr) {
    const std::uint32_t share = context_.window->window() / (context_.attributes.max_reads_out >= 4 ? 4 : 2);
    entry.chunk = std::max(share, kSmallestChunk) / mtu;
  }
  assigned_ = entry.end;
  ++begun_;
  direct_.began_by_packets(entry.wqe);
}

Transmit RcRequester::transmit(TxPacket& out, TimePoint now) {
  if (failed()) return Transmit::idle;
  if (recovery_.take_probe()) {
    if (una_ < next_ && send_probe(out)) return Transmit::packet;
    if (failed()) return Transmit::idle;
  }
  if (recovery_.waiting_rnr() || cursor_ == queue_.tail()) return Transmit::idle;
  while (cursor_ == begun_ && !stopping() && !valid(queue_.at(cursor_).wqe)) {
    if (failed() || !execute_locally()) return Transmit::idle;
  }
  SendEntry& entry = queue_.at(cursor_);
  if (nothing_in_flight() && (!stopping() || direct_.under_way()) && !direct_.take_refusal()) {
    if (const auto moved = go_direct(entry)) {
      out.payload_bytes = *moved;
      return Transmit::direct;
    }
  }
  switch (check_send(entry)) {
    case SendCheck::wait:
      return Transmit::idle;
    case SendCheck::window_full:
      return Transmit::blocked;
    case SendCheck::may_send:
      break;
  }
  if (cursor_ == begun_) begin(entry);
  return send_next(entry, out, now);
}

Transmit RcRequester::send_next(SendEntry& entry, TxPacket& out, TimePoint now) {
  const Psn from = next_;
  const Psn stop = packet_end(entry, from);
  auto built = build(entry, from, stop, gather_cursor_, out);
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
  if (cursor_ == queue_.head()) fail_front(status, reason);
}

// A READ is asked for as it was at first. If that was lost and the probe were shorter, the peer would take
// the probe for the request, and what asks for more afterwards for no repetition of it.
bool RcRequester::send_probe(TxPacket& out) {
  SgeCursor cursor;
  const SendEntry& entry = queue_.front();
  const Psn stop = entry.wqe.op == SendOp::read ? packet_end(entry, una_) : una_ + 1;
  auto built = build(entry, una_, stop, cursor, out);
  if (!built) {
    fail_front(Status::local_protection, built.error());
    return false;
  }
  out.headers.bth.ack_request = true;
  recovery_.probe_sent(una_);
  context_.host.count(Counter::retransmits);
  return true;
}

Expected<void, Reason> RcRequester::build(const SendEntry& entry, Psn psn, Psn stop, SgeCursor& cursor,
                                          TxPacket& out) {
  const SendWqe& wqe = entry.wqe;
  if (wqe.op == SendOp::read) {
    const std::uint32_t offset = offset_of(entry, psn);
    begin_request(out, context_.attributes, wire::Opcode::rc_read_request, psn, wqe);
    out.headers.reth = {wqe.remote_address + offset, wqe.rkey, offset_of(entry, stop) - offset};
    return {};
  }
  if (is_read_or_atomic(entry)) {
    begin_request(out, context_.attributes, rc_opcodes(wqe.op).only, psn, wqe);
    out.headers.atomic = {wqe.remote_address, wqe.rkey, wqe.swap_or_add, wqe.compare};
    return {};
  }
  return build_message(entry, psn, stop, cursor, out);
}

Expected<void, Reason> RcRequester::build_message(const SendEntry& entry, Psn psn, Psn stop,
                                                  SgeCursor& cursor, TxPacket& out) {
  const SendWqe& wqe = entry.wqe;
  const MessageOpcodes& opcodes = rc_opcodes(wqe.op);
  const bool last = stop == entry.end;
  begin_request(out, context_.attributes, opcodes.at(psn == entry.first, last), psn, wqe);
  out.headers.reth = {wqe.remote_address, wqe.rkey, wqe.length};
  if (last) {
    out.headers.bth.solicited = wqe.solicited && wqe.op != SendOp::write;  // IBTA 9.2.3
    out.headers.immediate = wqe.immediate;
    out.headers.invalidate = MemoryKey(wqe.immediate);
  }
  out.packets = static_cast<std::uint32_t>(stop - psn);
  return add_payload(context_.host, queue_, entry, offset_of(entry, psn),
                     out.packets * context_.attributes.path_mtu, cursor, out);
}

// The packets [from, stop) of the work request at the cursor leave. Returns what they take up.
std::uint32_t RcRequester::mark_in_flight(const SendEntry& entry, Psn from, Psn stop, TimePoint now) {
  const std::uint32_t cost = cost_of(entry, from, stop);
  if (una_ == next_) recovery_.flight_begins(now, context_.attributes.timeout);
  charge_.sent(cost);
  next_ = stop;
  top_ = std::max(top_, stop);
  if (next_ == entry.end) {
    ++cursor_;
    gather_cursor_ = {};
  }
  return cost;
}

void RcRequester::sent(const SendEntry& entry, Psn from, Psn stop, TxPacket& out, TimePoint now) {
  out.again = from < top_;
  const std::uint32_t cost = mark_in_flight(entry, from, stop, now);
  const bool awaited = recovery_.packet_sent(now);
  if (is_read_or_atomic(entry)) ++reads_out_;
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
  const bool last = stop == entry.end || is_read_or_atomic(entry);
  const std::uint32_t rest = last ? 0 : cost_of(entry, stop, entry.end);
  return ack_requests_.sent({cost, rest, charge_.bytes()}, context_.window);
}

}  // namespace softrnic::ib
