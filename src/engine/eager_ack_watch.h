// The ACKs of eager sends (transport/ib/eager_send.h): the peer says in a word of this lane's memory how far
// a queue pair's are, and rings the lane's doorbell only if its thread sleeps. So those that await such words
// are looked at in turn, and one of them, which stands for all, by whoever polls.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/clock.h"
#include "engine/qp_table.h"
#include "rnic/completion_queue.h"
#include "rnic/queue_pair.h"
#include "samehost/direct_layout.h"

namespace softrnic::engine {

/// Those of a lane. The lane's lock guards it, except where it says otherwise.
class EagerAckWatch {
 public:
  /// `words`: of the lane's queue pairs, by index; none: the lane has no direct path, and nobody awaits any.
  explicit EagerAckWatch(const samehost::EagerAck* words) : words_(words) {}

  /// Makes room for so many queue pairs: await() then needs no memory.
  void reserve(std::size_t qps) {
    if (awaiting_.capacity() < qps) awaiting_.reserve(2 * qps);
  }
  /// The queue pair begins another connection: words about the last one are not for it.
  void begin_connection(QpSlot& slot) {
    forget(slot);
    slot.token = ++last_token_;
  }
  /// The queue pair has sent some.
  void await(QpSlot& slot) {
    if (slot.awaits_acks) return;
    slot.awaits_acks = true;
    awaiting_.push_back(&slot);
    watch();
  }
  void forget(QpSlot& slot);

  /// Takes what has come for the queue pairs whose turn it is, and calls touch(qp) where more can be sent
  /// now. Returns for how many something had come.
  template <typename Touch>
  std::size_t take(Touch&& touch);
  /// The same for one that is about to be handed a message. On a wire the ACK of a message comes before the
  /// peer's answer to it: a program that waits for events in that order would be woken by the wrong one.
  template <typename Touch>
  void take_first(QpSlot& slot, Touch&& touch) {
    if (slot.awaits_acks && slot.qp->send_cq()->channel() != nullptr) take(slot, soon(), touch);
  }

  /// Without the lock: whether something has come for the one that stands for all.
  bool have_come() const {
    const samehost::EagerAck* const watched = watched_.load(std::memory_order_acquire);
    return watched != nullptr &&
           watched->word.load(std::memory_order_relaxed) != watched_seen_.load(std::memory_order_relaxed);
  }
  /// Without the lock: and whether it reports its sends to this queue.
  bool have_come_for(const rnic::CompletionQueue* cq) const {
    return have_come() && watched_cq_.load(std::memory_order_relaxed) == cq;
  }
  /// Whether something has come for any of them.
  bool any_has_come() const;

  /// In a forked child: what comes is for the parent.
  void abandon();

 private:
  static constexpr std::size_t kMostLooks = 64;  ///< queue pairs that are looked at in one go

  const samehost::EagerAck& word_of(const QpSlot& slot) const { return words_[slot.qp->qpn().index()]; }
  /// False: it awaits no more.
  template <typename Touch>
  bool take(QpSlot& slot, TimePoint now, Touch& touch);
  void watch();

  const samehost::EagerAck* words_;
  std::vector<QpSlot*> awaiting_;
  std::size_t next_ = 0;                                     ///< of them
  std::atomic<const samehost::EagerAck*> watched_{nullptr};  ///< the one that stands for all
  std::atomic<std::uint64_t> watched_seen_{0};
  std::atomic<const rnic::CompletionQueue*> watched_cq_{nullptr};
  std::uint32_t last_token_ = 0;
};

template <typename Touch>
bool EagerAckWatch::take(QpSlot& slot, TimePoint now, Touch& touch) {
  rnic::QueuePair& qp = *slot.qp;
  const std::uint64_t word = word_of(slot).word.load(std::memory_order_acquire);
  if (word != slot.ack_seen) {
    slot.ack_seen = word;
    if (samehost::EagerAck::token_of(word) == slot.token)
      qp.acknowledged(samehost::EagerAck::psn_of(word), samehost::EagerAck::credit_of(word), now);
    if (qp.has_business()) touch(qp);
  }
  return qp.endpoint().awaits_answers();
}

template <typename Touch>
std::size_t EagerAckWatch::take(Touch&& touch) {
  if (awaiting_.empty()) return 0;
  const TimePoint now = soon();
  std::size_t taken = 0;
  for (std::size_t looks = std::min(awaiting_.size(), kMostLooks); looks > 0; --looks) {
    if (next_ >= awaiting_.size()) next_ = 0;
    QpSlot*& place = awaiting_[next_];
    QpSlot& slot = *place;
    const std::uint64_t seen = slot.ack_seen;
    if (take(slot, now, touch)) {
      ++next_;
    } else {
      slot.awaits_acks = false;
      place = awaiting_.back();
      awaiting_.pop_back();
    }
    if (slot.ack_seen != seen) ++taken;
  }
  watch();
  return taken;
}

// One stands for all: the others are looked at in the batches.
inline void EagerAckWatch::watch() {
  if (awaiting_.empty()) return watched_.store(nullptr, std::memory_order_relaxed);
  const QpSlot& slot = *awaiting_[next_ % awaiting_.size()];
  watched_seen_.store(slot.ack_seen, std::memory_order_relaxed);
  watched_cq_.store(slot.qp->send_cq(), std::memory_order_relaxed);
  watched_.store(&word_of(slot), std::memory_order_release);
}

/// Whose eager sends have been executed, while their sender was not told yet: one queue pair at a time.
struct OwedAck {
  QpSlot* slot = nullptr;   ///< nullptr: nobody's
  std::uint32_t token = 0;  ///< the sender's, of its last one
};

}  // namespace softrnic::engine
