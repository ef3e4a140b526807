// Short messages to and from the other lanes of this host (transport/ib/eager_send.h).
//
// A message in that way needs no clock, no batch, no headers and no ACK packet. A thread that polls
// looks at the rings first and takes what are eager sends; everything else, and now and then a turn for
// all the rest, is a batch.
#include <algorithm>
#include <mutex>
#include <utility>

#include "base/hot_path.h"
#include "engine/lane.h"
#include "rnic/completion_queue.h"

namespace softrnic::engine {
namespace {

/// Polls that take eager sends, and then one that does all there is to do
constexpr std::uint32_t kEagerPolls = 16;
/// A look at the clock costs as much as a message or two; the engine thread needs one every 20 us
/// (PollModeration::kUnpolled).
constexpr std::uint32_t kPollsPerLook = 8;
constexpr std::size_t kMessagesPerLook = 8;
constexpr std::size_t kMostAcks = 64;  ///< queue pairs that are looked at in one go

// A program that has no place for more finds the rest in the ring next time. If it lay in its queue instead,
// the peer would be told to go on, and use up the receives that the program posts once it has seen these.
std::size_t room(const rnic::CompletionSink& sink) {
  return std::max<std::ptrdiff_t>(sink.end - sink.next, 1);
}

}  // namespace

// ---- requests

SOFTRNIC_HOT_PATH bool Lane::send_eager(rnic::QueuePair& qp) {
  auto* const path = static_cast<flow::Path*>(qp.window());
  if (inbox_ == nullptr || path == nullptr || !path->local || path->first != nullptr || !completions_.empty())
    return false;
  const ib::Attributes& attributes = qp.transport_attributes();
  QpSlot* const slot = qps_.find(qp.qpn());
  if (slot == nullptr || !inbox_->connected(attributes.remote.lane())) return false;
  const TimePoint now = soon();
  ib::EagerSend eager;
  bool any = false;
  for (; qp.next_eager(eager); any = true) {
    inbox_->send(eager, attributes.path, slot->token, now);
    qp.eager_sent(now);
  }
  if (!any) return false;
  inbox_->ring_doorbells();
  await_acks(*slot);
  row_is_old(*slot);
  deadlines_.update(qp);
  if (deadlines_.earliest() < armed_) arm(Duration::zero());
  return !qp.endpoint().has_unsent();
}

// ---- what comes in

// A program that polls for what it receives is not kept with ACKs of what it has sent: they wait until it
// asks for those completions, or for a batch.
SOFTRNIC_HOT_PATH bool Lane::poll_eager(rnic::CompletionSink& sink, std::uint32_t polls) {
  if (inbox_ == nullptr) return false;
  const bool acks = acks_have_come() && awaited_cq_.load(std::memory_order_relaxed) == sink.cq;
  if (!acks && !(inbox_->active() && inbox_->rings_have_packet())) return false;
  if (polls % kEagerPolls == 0) return false;
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return false;
  completions_.open(sink);
  std::size_t taken = acks ? take_acks() : 0;
  attempt([&] { taken += inbox_->receive_eagers(*this, room(sink)); });
  acknowledge_eager();
  inbox_->ring_doorbells();
  publish();
  completions_.close();
  if (taken != 0) eager_polls_.store(eager_polls() + 1, std::memory_order_relaxed);
  if (taken >= kMessagesPerLook || (taken != 0 && polls % kPollsPerLook == 0))
    last_poll_.looked(monotonic_now());
  return taken != 0 && !scheduler_.has_work();
}

bool Lane::eager(const samehost::RingEagerSend& message, std::uint8_t lane) {
  const ib::EagerSend& eager = message.eager;
  QpSlot* const slot = eager.destination.lane() == number_ ? qps_.find(eager.destination) : nullptr;
  if (slot == nullptr || !inbox_->connected(lane) || slot->qp->transport_attributes().remote.lane() != lane)
    return false;
  if (slot != to_acknowledge_) acknowledge_eager();
  take_ack_first(*slot);
  if (!slot->qp->receive_eager(eager, message.route->source)) return false;
  to_acknowledge_ = slot;
  its_token_ = message.token;
  return true;
}

// What was executed since as packets is told as well.
void Lane::acknowledge_eager() {
  if (to_acknowledge_ == nullptr) return;
  QpSlot& slot = *std::exchange(to_acknowledge_, nullptr);
  rnic::QueuePair& qp = *slot.qp;
  inbox_->acknowledge(qp.transport_attributes().remote, its_token_, qp.receive_psn());
  direct_.received(qp);
  row_is_old(slot);
}

// ---- ACKs

void Lane::await_acks(QpSlot& slot) {
  if (slot.awaits_acks) return;
  slot.awaits_acks = true;
  awaiting_.push_back(&slot);
  watch_acks();
}

void Lane::forget_acks(QpSlot& slot) {
  if (!slot.awaits_acks) return;
  slot.awaits_acks = false;
  std::erase(awaiting_, &slot);
  watch_acks();
}

bool Lane::acks_have_come() const {
  const samehost::DirectAck* const awaited = awaited_.load(std::memory_order_acquire);
  return awaited != nullptr &&
         awaited->word.load(std::memory_order_relaxed) != awaited_seen_.load(std::memory_order_relaxed);
}

// False: it awaits no more.
bool Lane::take_ack(QpSlot& slot, TimePoint now) {
  rnic::QueuePair& qp = *slot.qp;
  const std::uint64_t word = ack_of(slot).word.load(std::memory_order_acquire);
  if (word != slot.ack_seen) {
    slot.ack_seen = word;
    if (samehost::DirectAck::token_of(word) == slot.token)
      qp.acknowledged(samehost::DirectAck::psn_of(word), now);
    if (qp.endpoint().has_unsent()) touch(qp);
  }
  return qp.endpoint().awaits_answers();
}

// On a wire the ACK of a message comes before the peer's answer to it. A program that waits for events in
// that order would be woken by the wrong one.
void Lane::take_ack_first(QpSlot& slot) {
  if (slot.awaits_acks && slot.qp->send_cq()->channel() != nullptr) take_ack(slot, soon());
}

std::size_t Lane::take_acks() {
  if (awaiting_.empty()) return 0;
  const TimePoint now = soon();
  std::size_t taken = 0;
  for (std::size_t looks = std::min(awaiting_.size(), kMostAcks); looks > 0; --looks) {
    if (next_awaiting_ >= awaiting_.size()) next_awaiting_ = 0;
    QpSlot*& place = awaiting_[next_awaiting_];
    QpSlot& slot = *place;
    const std::uint64_t seen = slot.ack_seen;
    if (take_ack(slot, now)) {
      ++next_awaiting_;
    } else {
      slot.awaits_acks = false;
      place = awaiting_.back();
      awaiting_.pop_back();
    }
    if (slot.ack_seen != seen) ++taken;
  }
  if (taken != 0) inbox_->heard();
  watch_acks();
  return taken;
}

// One stands for all: the others are looked at in the batches.
void Lane::watch_acks() {
  if (awaiting_.empty()) return awaited_.store(nullptr, std::memory_order_relaxed);
  const QpSlot& slot = *awaiting_[next_awaiting_ % awaiting_.size()];
  awaited_seen_.store(slot.ack_seen, std::memory_order_relaxed);
  awaited_cq_.store(slot.qp->send_cq(), std::memory_order_relaxed);
  awaited_.store(&ack_of(slot), std::memory_order_release);
}

const samehost::DirectAck& Lane::ack_of(const QpSlot& slot) const {
  return direct_.place()->acks[slot.qp->qpn().index()];
}

// ---- sleep

bool Lane::arm_doorbell() {
  if (inbox_ == nullptr) return true;
  if (!inbox_->arm_doorbell()) return false;
  const bool any = any_ack_has_come();
  if (any) inbox_->disarm_doorbell();
  return !any;
}

bool Lane::recheck_doorbell() {
  return inbox_ != nullptr && (inbox_->recheck_doorbell() || any_ack_has_come());
}

bool Lane::any_ack_has_come() {
  const std::lock_guard lock(mutex_);
  return std::any_of(awaiting_.begin(), awaiting_.end(), [this](const QpSlot* slot) {
    return ack_of(*slot).word.load(std::memory_order_acquire) != slot->ack_seen;
  });
}

}  // namespace softrnic::engine
