#include "transport/iwarp/requester.h"

#include <array>

#include "base/reason_id.h"
#include "transport/ib/inbound_message.h"
#include "transport/iwarp/faults.h"

namespace softrnic::iwarp {
namespace {

using ib::SendOp;
using ib::Status;

/// What iWARP makes of an operation (RFC 5040 3.2, RFC 7306 3).
enum class Make : std::uint8_t { nothing, send, write, read, atomic, local };
struct OpRule {
  Make make = Make::nothing;
  bool extension = false;  ///< needs RFC 7306
};
// By SendOp. SENDs with immediate data, FLUSH and ATOMIC WRITE are InfiniBand's.
constexpr std::array<OpRule, ib::kSendOps> kOps = [] {
  std::array<OpRule, ib::kSendOps> ops{};
  const auto set = [&ops](SendOp op, OpRule rule) { ops[static_cast<std::size_t>(op)] = rule; };
  set(SendOp::write, {Make::write});
  set(SendOp::write_with_imm, {Make::write, true});
  set(SendOp::send, {Make::send});
  set(SendOp::send_with_invalidate, {Make::send});
  set(SendOp::read, {Make::read});
  set(SendOp::compare_swap, {Make::atomic, true});
  set(SendOp::fetch_add, {Make::atomic, true});
  set(SendOp::local_invalidate, {Make::local});
  set(SendOp::bind_window, {Make::local});
  return ops;
}();

OpRule rule_of(SendOp op) {
  const auto index = static_cast<std::size_t>(op);
  return index < kOps.size() ? kOps[index] : OpRule{};
}

bool before(std::uint32_t a, std::uint32_t b) { return static_cast<std::int32_t>(a - b) < 0; }

}  // namespace

// RFC 5040 5.2.1: the sink of a READ is one buffer.
std::optional<Requester::Failure> Requester::check(const ib::SendEntry& entry) const {
  const ib::SendWqe& wqe = entry.wqe;
  const OpRule rule = rule_of(wqe.op);
  const auto refuse = [](const Reason& reason) { return Failure{Status::local_qp_operation, reason}; };
  if (rule.make == Make::nothing) return refuse(because(ReasonId::iwarp_no_operation, wqe.op));
  if (rule.extension && !context_.attributes.extensions)
    return refuse(because(ReasonId::iwarp_no_extensions, wqe.op));
  const bool answered = ib::is_answered(wqe.op);
  if (answered && context_.agreement.ord == 0) return refuse(because(ReasonId::iwarp_no_reads, wqe.op));
  if (rule.make == Make::read && wqe.sge_count > 1)
    return refuse(because(ReasonId::iwarp_read_sges, wqe.sge_count));
  return check_memory(entry);
}

std::optional<Requester::Failure> Requester::check_memory(const ib::SendEntry& entry) const {
  const auto use = ib::is_answered(entry.wqe.op) ? ib::LocalUse::response : ib::LocalUse::send;
  for (const ib::Sge& sge : queue_.sges(entry)) {
    if (sge.length == 0) continue;
    const auto memory = context_.host.local_memory(sge.lkey, sge.address, sge.length, use);
    if (!memory) return Failure{Status::local_protection, memory.error()};
  }
  return std::nullopt;
}

void Requester::fails(Index index, const Failure& failure) {
  failed_ = failure;
  failed_->index = index;
}

// A window is bound, or a key invalidated, when everything before it is done (RFC 5040 6: with a fence or
// without).
bool Requester::execute_local() {
  if (queue_.head() != next_) return false;
  const auto done = ib::execute_front(context_.host, queue_);
  if (!done) {
    failed_ = Failure{Status::window_bind, done.error(), next_};
    return false;
  }
  sent_ = answered_ = ++next_;
  return true;
}

// Whether the work request may begin: a fence waits for all READs and atomics, and those for a place (ORD).
bool Requester::begin(ib::SendEntry& entry) {
  const ib::SendWqe& wqe = entry.wqe;
  if (const auto failure = check(entry)) {
    if (queue_.head() == next_) fails(next_, *failure);
    return false;
  }
  if (wqe.fence && answers_due_ > 0) return false;
  return !ib::is_answered(wqe.op) || answers_due_ < context_.agreement.ord;
}

bool Requester::next_segment(TxSegment& out, std::size_t max_ulpdu) {
  while (!failed_ && next_ != queue_.tail()) {
    ib::SendEntry& entry = queue_.at(next_);
    const Make make = rule_of(entry.wqe.op).make;
    if (!in_message() && !begin(entry)) return false;
    if (make == Make::local) {
      if (!execute_local()) return false;
      continue;
    }
    out.kind = SegmentKind::request;
    out.index = next_;
    if (immediate_due_) {
      make_immediate(entry, out);
    } else if (make == Make::read) {
      make_read(entry, out);
    } else if (make == Make::atomic) {
      make_atomic(entry, out);
    } else {
      make_message(entry, out, max_ulpdu);
    }
    return true;
  }
  return false;
}

std::optional<SegmentSource::Pieces> Requester::payload(const TxSegment& segment, std::size_t from,
                                                        std::span<Bytes> out) {
  if (gathered_ != segment.index) cursor_ = {};
  gathered_ = segment.index;
  scratch_.fragment_count = 0;
  scratch_.payload_bytes = 0;
  const ib::SendEntry& entry = queue_.at(segment.index);
  const auto most = static_cast<std::uint32_t>(segment.payload - from);
  const auto offset = static_cast<std::uint32_t>(segment.offset + from);
  if (!ib::add_payload(context_.host, queue_, entry, offset, most, cursor_, scratch_)) {
    const Failure no_page{Status::local_protection, because(ReasonId::page_missing, most, offset)};
    fails(segment.index, check_memory(entry).value_or(no_page));
    return std::nullopt;
  }
  SegmentSource::Pieces pieces;
  pieces.count = std::min<std::size_t>(scratch_.fragment_count, out.size());
  for (std::size_t i = 0; i < pieces.count; ++i) {
    const ib::Fragment& fragment = scratch_.fragments[i];
    out[i] = {fragment.data, fragment.size};
    pieces.passing = pieces.passing || (fragment.key.value == 0 && !entry.wqe.is_inline);
  }
  return pieces;
}

void Requester::segment_sent(const TxSegment& segment) {
  if (segment.last) sent_ = segment.index + 1;
}

void Requester::complete_sent(TimePoint now) {
  if (sent_write_alone() && turns_.spoke(now) && queue_.front().wqe.signaled)
    delayed_until_ = now + kPatience;
  retire();
}

bool Requester::sent_write_alone() const {
  return queue_.size() == 1 && sent_ == queue_.tail() && queue_.at(queue_.head()).wqe.op == SendOp::write;
}

void Requester::complete_delayed() {
  if (delayed_until_ == kNever) return;
  turns_.gave_up();
  end_delay();
}

void Requester::end_delay() {
  delayed_until_ = kNever;
  retire();
}

void Requester::peer_spoke(TimePoint now) {
  turns_.answered(now);
  if (delayed_until_ != kNever) end_delay();
}

void Requester::retire() {
  if (delayed_until_ != kNever) return;
  while (before(queue_.head(), sent_)) {
    const bool answered = ib::is_answered(queue_.front().wqe.op);
    if (answered && !before(queue_.head(), answered_)) return;
    ib::complete_front(context_.host, queue_, Status::success);
    if (before(answered_, queue_.head())) answered_ = queue_.head();  // running numbers wrap: it stays near
  }
}

std::optional<Requester::Index> Requester::awaited() const {
  Index index = before(answered_, queue_.head()) ? queue_.head() : answered_;
  for (; before(index, sent_); ++index)
    if (ib::is_answered(queue_.at(index).wqe.op)) return index;
  return std::nullopt;
}

void Requester::answered(Index index) {
  answered_ = index + 1;
  --answers_due_;
  retire();
}

std::uint32_t Requester::unanswered() const {
  std::uint32_t count = 0;
  for (Index index = queue_.head(); index != queue_.tail(); ++index)
    count += ib::is_answered(queue_.at(index).wqe.op) && !before(index, answered_) ? 1 : 0;
  return count;
}

void Requester::flush() { end(queue_.tail(), ib::Status::flushed, because(ReasonId::flushed)); }

void Requester::fail(const Failure& failure) { end(failure.index, failure.status, failure.reason); }

bool Requester::asks(Index index, const wire::ReadRequest& read) const {
  const ib::SendWqe& wqe = queue_.at(index).wqe;
  if (wqe.op != SendOp::read || wqe.length != read.size || wqe.rkey != read.source ||
      wqe.remote_address != read.source_offset)
    return false;
  const auto sinks = sges(index);
  return sinks.empty() || (sinks[0].lkey == read.sink && sinks[0].address == read.sink_offset);
}

// Requests are numbered as they are made: that of a READ or atomic is by how many it is not the last. siw
// names a READ whose source it finds wrong only when it answers by all but its number (it says the size).
std::optional<Requester::Index> Requester::named_by(const wire::Terminate& message) const {
  std::optional<Index> by_number, by_content;
  std::uint32_t number = request_msn_ - answers_due_;
  for (Index index = queue_.head(); before(index, next_); ++index) {
    if (!ib::is_answered(queue_.at(index).wqe.op) || before(index, answered_)) continue;
    const bool same_number = number++ == message.ddp->msn;
    const bool same_content = message.read && asks(index, *message.read);
    if (same_number && (same_content || !message.read)) return index;
    if (same_number) by_number = index;
    if (same_content && !by_content) by_content = index;
  }
  return by_content ? by_content : by_number;
}

bool Requester::blame(const wire::Terminate& message) {
  const auto index = named_by(message);
  if (!index) {
    flush();
    return false;
  }
  const SendOp op = queue_.at(*index).wqe.op;
  end(*index, status_of(message.error),
      because(ReasonId::iwarp_refused_request, message.error, message.ddp->msn, op));
  return true;
}

// What the stream has taken is done, unless it waits for something before it.
void Requester::end(Index blamed, Status status, const Reason& reason) {
  failed_.reset();
  end_delay();
  while (!queue_.empty()) {
    const bool at_fault = queue_.head() == blamed;
    ib::complete_front(context_.host, queue_, at_fault ? status : Status::flushed,
                       at_fault ? reason : because(ReasonId::flushed));
  }
  next_ = sent_ = answered_ = queue_.tail();
  offset_ = answers_due_ = 0;
  immediate_due_ = ready_awaited_ = false;
}

void Requester::reset() {
  queue_.clear();
  next_ = sent_ = answered_ = 0;
  offset_ = answers_due_ = 0;
  immediate_due_ = ready_awaited_ = false;
  send_msn_ = request_msn_ = 1;
  cursor_ = {};
  failed_.reset();
  delayed_until_ = kNever;
  turns_ = TurnPredictor(kTurn);
}

}  // namespace softrnic::iwarp
