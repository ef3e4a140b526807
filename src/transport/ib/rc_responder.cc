#include "transport/ib/rc_responder.h"

#include <algorithm>

#include "base/reason_id.h"
#include "transport/ib/flush_selector.h"
#include "transport/ib/rights.h"
#include "transport/ib/rx_packet.h"
#include "transport/ib/sge_list.h"
#include "transport/ib/timers.h"

namespace softrnic::ib {
namespace {

using wire::Operation;

/// How long a peer is left alone whose atomic found its word in other hands. To wait there costs
/// the whole lane a moment.
constexpr Duration kWordDelay = std::chrono::milliseconds(4);

bool takes_receive(const wire::OpcodeInfo& info) {
  return info.operation == Operation::send || info.has(wire::kImmDt);
}

template <typename... Figures>
Verdict invalid(ReasonId id, Figures... figures) {
  return {Fault::invalid_request, because(id, figures...)};
}

}  // namespace

void RcResponder::start() {
  reset();
  resources_.resize(context_.attributes.max_reads_in);
  expected_ = Psn::first(context_.attributes.receive_psn);
  ack_psn_ = expected_.previous();
  nak_.start(expected_);
}

void RcResponder::reset() {
  message_.forget();
  resources_.clear();
  msn_ = srqn_ = 0;
  nak_ = {};
  credit_ = {};
  context_.host.want_receives(false);
  ack_owed_ = any_accepted_ = failed_ = explained_behind_ = false;
  event_.reset();
}

void RcResponder::flush() {
  context_.host.want_receives(false);
  nak_.stop();
  message_.fail_receive(Status::flushed, because(ReasonId::flushed), context_.host);
}

void RcResponder::receive(const RxPacket& rx, TimePoint now) {
  const Psn psn = Psn::unwrap(rx.packet.headers.bth.psn, expected_);
  if (psn == expected_) {
    receive_expected(rx, now);
  } else if (psn > expected_) {
    receive_ahead(psn, rx.packets);
  } else if (const auto rest = rx.behind(expected_ - psn, context_.attributes.path_mtu)) {
    context_.host.count(Counter::duplicates);
    receive_expected(*rest, now);
  } else {
    receive_duplicate(rx.packet, psn);
  }
}

void RcResponder::receive_ahead(Psn psn, std::uint32_t packets) {
  context_.host.count(Counter::out_of_sequence);
  if (!nak_.came_ahead(psn, packets)) return;
  const auto id = any_accepted_ ? ReasonId::nak_sequence : ReasonId::nak_wrong_psn;
  context_.host.explain(because(id, expected_.wire(), psn.wire(), psn - expected_), nullptr);
  ask();
}

void RcResponder::receive_expected(const RxPacket& rx, TimePoint now) {
  nak_.expected_came();
  const Verdict verdict = execute(rx, now);
  if (verdict.fault == Fault::payload_gone) {
    context_.host.count(Counter::drop_payload);
    context_.host.explain(verdict.reason, nullptr);
    return ask();
  }
  if (!verdict) return refuse(verdict, rx.packet);
  if (nak_.must_ask(expected_)) ask();
}

// For the expected packet and all behind it, whether they were lost or dropped here: else nobody would send
// them again before a timer does, and with timeout 0 nobody ever.
void RcResponder::ask() {
  context_.host.count(Counter::nak_sequence_sent);
  nak_.owe(wire::kNakPsnSequence, expected_);
}

// Not by an RNR NAK: many a peer has rnr_retry 0, and would fail for a third process that was off
// the processor for a moment.
void RcResponder::ask_later(const Reason& reason, TimePoint now) {
  context_.host.explain(reason, nullptr);
  nak_.later(now + kWordDelay);
}

void RcResponder::expire(TimePoint now) {
  if (now >= nak_.deadline()) ask();
}

const char* RcResponder::broken_invariant() const {
  if (ack_psn_ >= expected_ && expected_ != Psn()) return "a packet is acknowledged that has not come";
  return nak_.broken_invariant(expected_);
}

Verdict RcResponder::execute(const RxPacket& rx, TimePoint now) {
  const wire::Packet& packet = rx.packet;
  const std::uint32_t mtu = context_.attributes.path_mtu;
  if (packet.info->has(wire::kXrceth)) {
    if (auto verdict = select_srq(packet); !verdict) return verdict;
  }
  switch (packet.info->operation) {
    case Operation::send:
    case Operation::write: {
      Verdict verdict = message_.place(rx, context_.attributes, context_.host);
      if (verdict) accepted(packet, rx.packets);
      return verdict;
    }
    case Operation::read_request:
      return rx.lengths_fit(mtu) ? execute_read(packet) : wrong_length(rx, mtu);
    case Operation::compare_swap:
    case Operation::fetch_add:
      return rx.lengths_fit(mtu) ? execute_atomic(packet, now) : wrong_length(rx, mtu);
    case Operation::atomic_write:
      return rx.lengths_fit(mtu) ? execute_atomic_write(rx, now) : wrong_length(rx, mtu);
    case Operation::flush:
      return rx.lengths_fit(mtu) ? execute_flush(packet) : wrong_length(rx, mtu);
    default:
      return invalid(ReasonId::drop_wrong_service, packet.info->opcode);
  }
}

// An SRQ that is not there, or not in the XRC domain of this QP, makes the request invalid: the target sends
// that NAK, raises an event and fails (IBTA 9.9.3). All packets of a message name the same one.
Verdict RcResponder::select_srq(const wire::Packet& packet) {
  const std::uint32_t number = packet.headers.xrc_srqn;
  if (message_.active() && number != srqn_) return invalid(ReasonId::nak_xrc_srq_changed, number, srqn_);
  auto selected = context_.host.select_srq(number);
  if (!selected) return {Fault::invalid_request, selected.error()};
  srqn_ = number;
  return {};
}

void RcResponder::accepted(const wire::Packet& packet, std::uint32_t packets) {
  expected_ = expected_ + packets;
  any_accepted_ = true;
  const bool answered =
      packet.info->operation != Operation::send && packet.info->operation != Operation::write;
  if (answered) {
    ack_owed_ = false;  // the response acknowledges everything before it (IBTA 9.7.5)
    return;
  }
  ack_psn_ = expected_.previous();
  if (packet.info->ends()) msn_ = (msn_ + 1) & wire::kPsnMask;
  if (packet.info->ends() && takes_receive(*packet.info)) receive_used();
  if (packet.headers.bth.ack_request) ack_owed_ = true;
}

// A peer that has used all it knew of is told at once of what there is.
void RcResponder::receive_used() {
  credit_.used();
  if (!credit_.exhausted()) return;
  const auto receives = context_.host.receives_posted();
  if (!receives) return;  // which it learns by the ACK that it asks for
  context_.host.want_receives(*receives == 0);
  ack_owed_ = ack_owed_ || *receives > 0;
}

ReadAtomic* RcResponder::take_resource(std::uint32_t packets) {
  ReadAtomic* resource = resources_.take();
  if (resource == nullptr) return nullptr;
  msn_ = (msn_ + 1) & wire::kPsnMask;
  resource->first = expected_;
  resource->packets = packets;
  resource->msn = msn_;
  resource->srqn = srqn_;
  return resource;
}

Verdict RcResponder::execute_read(const wire::Packet& packet) {
  const Attributes& attributes = context_.attributes;
  const wire::Reth& reth = packet.headers.reth;
  if (auto verdict = message_.interrupted_by(*packet.info); !verdict) return verdict;
  constexpr std::uint32_t kRight = needs_of(SendOp::read).access;
  if ((attributes.access & kRight) == 0) {
    return invalid(ReasonId::nak_qp_access, attributes.access, kRight, packet.info->opcode);
  }
  if (reth.length > kMaxMessage) return invalid(ReasonId::nak_message_length, kMaxMessage, reth.length);
  if (reth.length > 0) {  // C9-88: the key of a zero-length READ is not checked
    auto memory = context_.host.remote_memory(reth.key, reth.address, reth.length, kRemoteRead);
    if (!memory) return {Fault::remote_access, memory.error()};
  }
  const std::uint32_t packets = packets_of(reth.length, attributes.path_mtu);
  ReadAtomic* read = take_resource(packets);
  if (read == nullptr) return invalid(ReasonId::nak_read_resources, resources_.places());
  read->address = reth.address;
  read->rkey = reth.key;
  read->length = reth.length;
  read->answer(0, packets, reth.length);
  accepted(packet, packets);
  return {};
}

Verdict RcResponder::execute_atomic(const wire::Packet& packet, TimePoint now) {
  const wire::AtomicEth& eth = packet.headers.atomic;
  const bool compares = packet.info->operation == Operation::compare_swap;
  const AtomicOperation operation{compares ? AtomicKind::compare_swap : AtomicKind::fetch_add,
                                  eth.swap_or_add, eth.compare};
  return change_word(packet, {eth.key, eth.address, needs_of(SendOp::fetch_add).access}, operation, now);
}

// IBTA A19.4.2: eight bytes, which nobody sees in part. They take the access of a WRITE.
Verdict RcResponder::execute_atomic_write(const RxPacket& rx, TimePoint now) {
  const wire::Reth& reth = rx.packet.headers.reth;
  AtomicOperation operation{AtomicKind::write};
  if (reth.length != sizeof operation.operand)
    return invalid(ReasonId::nak_message_length, sizeof operation.operand, reth.length);
  const HostMemory here{reinterpret_cast<std::byte*>(&operation.operand)};
  if (auto placed = place(context_.host, rx.payload(), 0, here, sizeof operation.operand); !placed)
    return {Fault::payload_gone, placed.error()};
  return change_word(rx.packet, {reth.key, reth.address, needs_of(SendOp::atomic_write).access}, operation,
                     now);
}

Verdict RcResponder::change_word(const wire::Packet& packet, const RemoteWord& word,
                                 const AtomicOperation& operation, TimePoint now) {
  const Attributes& attributes = context_.attributes;
  if (auto verdict = message_.interrupted_by(*packet.info); !verdict) return verdict;
  if ((attributes.access & word.access) == 0) {
    return invalid(ReasonId::nak_qp_access, attributes.access, word.access, packet.info->opcode);
  }
  if (word.address % 8 != 0) return invalid(ReasonId::nak_atomic_alignment, word.address);
  auto memory = context_.host.remote_memory(word.key, word.address, 8, word.access);
  if (!memory) return {Fault::remote_access, memory.error()};
  // With iova registration an aligned address need not be aligned in this process.
  if (reinterpret_cast<std::uintptr_t>(memory->at) % 8 != 0)
    return invalid(ReasonId::nak_atomic_alignment, word.address);
  if (!resources_.has_place()) return invalid(ReasonId::nak_read_resources, resources_.places());
  const Answer answer = operation.kind == AtomicKind::write ? Answer::nothing : Answer::word;
  if (memory->on_demand) {
    const auto original = context_.host.execute_on_demand(memory->at, operation);
    if (!original) return {Fault::remote_access, because(ReasonId::page_missing, 8, word.address)};
    executed(packet, answer, *original);
    return {};
  }
  const auto original = context_.host.execute_atomic(reinterpret_cast<std::uint64_t*>(memory->at), operation);
  if (original) {
    executed(packet, answer, *original);
  } else {
    ask_later(original.error(), now);
  }
  return {};
}

// IBTA A19.4.1. Whatever the peer wrote before was copied into memory by this processor or one that is
// coherent with it, and who hears of the answer sees it: there is nothing left to do. Memory that outlives a
// loss of power is not offered, and no region has that access.
Verdict RcResponder::execute_flush(const wire::Packet& packet) {
  const Attributes& attributes = context_.attributes;
  const wire::Reth& reth = packet.headers.reth;
  if (auto verdict = message_.interrupted_by(*packet.info); !verdict) return verdict;
  const FlushSelector selector = FlushSelector::of(packet.headers.flush_selector);
  if (!selector.valid()) return invalid(ReasonId::nak_flush_selector, packet.headers.flush_selector);
  const std::uint32_t access = selector.access();
  if ((access & ~attributes.access) != 0) {
    return invalid(ReasonId::nak_qp_access, attributes.access, access, packet.info->opcode);
  }
  if (selector.level == FlushSelector::kRegion) {
    if (auto region = context_.host.remote_region(reth.key, access); !region)
      return {Fault::remote_access, region.error()};
  } else {
    auto memory = context_.host.remote_memory(reth.key, reth.address, reth.length, access);
    if (!memory) return {Fault::remote_access, memory.error()};
  }
  if (!resources_.has_place()) return invalid(ReasonId::nak_read_resources, resources_.places());
  executed(packet, Answer::nothing);
  return {};
}

void RcResponder::executed(const wire::Packet& packet, Answer kind, std::uint64_t original) {
  ReadAtomic* const answer = take_resource(1);
  answer->kind = kind;
  answer->original = original;
  answer->answer(0, 1, 0);
  accepted(packet, 1);
}

// IBTA 9.7.5.1.2 – 9.7.5.1.5: duplicate requests.
void RcResponder::receive_duplicate(const wire::Packet& packet, Psn psn) {
  context_.host.count(Counter::duplicates);
  if (!any_accepted_ && !explained_behind_) {
    explained_behind_ = true;
    context_.host.explain(because(ReasonId::psn_behind, expected_.wire(), psn.wire(), expected_ - psn),
                          nullptr);
  }
  switch (packet.info->operation) {
    case Operation::send:
    case Operation::write:
      ack_owed_ = true;
      return;
    case Operation::read_request:
      return replay_read(packet.headers.reth, psn);
    case Operation::compare_swap:
    case Operation::fetch_add:
      return replay(Answer::word, psn);
    case Operation::atomic_write:
    case Operation::flush:
      return replay(Answer::nothing, psn);
    default:
      return;
  }
}

// IBTA 9.7.5: forgotten ones are dropped silently.
void RcResponder::replay(Answer kind, Psn psn) {
  ReadAtomic* const known = resources_.find(psn);
  if (known == nullptr || known->kind != kind) return;
  known->answer(0, 1, 0);
  resources_.rescan();
}

// A duplicate READ may ask for the rest of the original only, and must name the same key and place.
void RcResponder::replay_read(const wire::Reth& reth, Psn psn) {
  ReadAtomic* read = resources_.find(psn);
  if (read == nullptr || read->kind != Answer::data) return;
  const std::uint32_t mtu = context_.attributes.path_mtu;
  const auto from = static_cast<std::uint32_t>(psn - read->first);
  const std::uint64_t offset = std::uint64_t{from} * mtu;
  const bool subset = reth.address == read->address + offset && offset + reth.length <= read->length;
  if (!subset || (reth.key != read->rkey && reth.length > 0)) return;
  read->answer(from, from + packets_of(reth.length, mtu), static_cast<std::uint32_t>(offset + reth.length));
  read->again = true;
  resources_.rescan();
}

void RcResponder::refuse(const Verdict& verdict, const wire::Packet& packet) {
  const FaultRule& rule = fault_rule(verdict.fault);
  const Attributes& attributes = context_.attributes;
  context_.host.count(rule.nak_counter);
  if (verdict.fault == Fault::no_receive) {
    const auto delay =
        std::chrono::duration_cast<std::chrono::microseconds>(rnr_delay(attributes.min_rnr_timer));
    context_.host.explain(because(ReasonId::nak_rnr, expected_.wire(), delay.count(), packet.info->opcode),
                          nullptr);
    return nak_.owe(static_cast<std::uint8_t>(rule.syndrome | (attributes.min_rnr_timer & 31)), expected_);
  }
  const bool blamed = rule.receive_status != Status::flushed;
  context_.host.explain(verdict.reason, blamed ? message_.receive_id() : nullptr);
  InboundMessage::count_refused(*packet.info, context_.host);
  nak_.owe(rule.syndrome, expected_);
  failed_ = true;
  // the program learns of the first by its receive, and of the second by an event (IBTA 9.9.3)
  if (verdict.fault == Fault::remote_access &&
      message_.spoil_receive(*packet.info, verdict.reason, context_.host))
    return;
  message_.fail_receive(rule.receive_status, blamed ? verdict.reason : because(ReasonId::flushed),
                        context_.host);
  if (rule.has_event) event_ = rule.event;
}

}  // namespace softrnic::ib
