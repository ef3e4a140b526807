// A completion queue: a ring of work completions, with one-shot notification (IBTA 11.4.2).
//
// A completion that finds no room breaks the queue for good (ibv_poll_cq(3): "the CQ cannot be used"),
// because a program that lost one completion cannot account for its work requests any more: IBV_EVENT_CQ_ERR
// is raised, what lies there can still be taken, nothing is added, and each QP that has a completion to add
// goes into the error state.
#pragma once

#include <infiniband/verbs.h>

#include <array>
#include <atomic>
#include <memory>
#include <span>
#include <vector>

#include "base/expected.h"
#include "base/held_across_fork.h"
#include "base/lane_limits.h"
#include "base/poll_backoff.h"
#include "base/quick_mutex.h"
#include "base/reason.h"
#include "rnic/completion_ring.h"
#include "rnic/event_moderation.h"
#include "rnic/object.h"

namespace softrnic::rnic {

class CompletionChannel;
class Context;
class LanePort;
class ProtectionDomain;
struct CompletionSink;

/// What ibv_create_cq and ibv_create_cq_ex are asked for.
struct CompletionQueueInit {
  int entries = 0;
  CompletionChannel* channel = nullptr;
  int vector = 0;
  bool keeps_times = false;            ///< for IBV_WC_EX_WITH_COMPLETION_TIMESTAMP and …_WALLCLOCK
  bool ignores_overrun = false;        ///< a completion that finds no room takes that of the oldest
  ProtectionDomain* parent = nullptr;  ///< a parent domain that it is made with
};

/// What became of a completion.
enum class Pushed : std::uint8_t {
  lost,         ///< the queue is full or has been; its QP is to be told (QueuePair::completion_lost)
  added,        ///< it lies there, and the channel was told if it is to be
  event_waits,  ///< it lies there; who has pushed it calls tell_when_due() at next_look()
};

/// Thread-safe. Its lock comes after those of lanes and SRQs.
class CompletionQueue : public EventTarget {
 public:
  /// Rounds the entries up to a power of two. EINVAL: none or too many, unknown vector; ENOMEM.
  static Expected<std::unique_ptr<CompletionQueue>, Failure> create(Context& context,
                                                                    const CompletionQueueInit& init);
  ~CompletionQueue();

  /// EBUSY while QPs use it. Else removes unfetched events, waits until fetched ones (of the channel and
  /// asynchronous ones) are acknowledged; delete the object afterwards.
  Expected<void, Failure> destroy();

  int capacity() const { return static_cast<int>(capacity_.load(std::memory_order_relaxed)); }
  CompletionChannel* channel() const { return channel_; }
  Context& context() const { return context_; }

  /// ibv_poll_cq: takes up to `count` completions (0 when there are none). Drives the lanes that feed
  /// this queue when there is nothing to take. Negative `count`: -EINVAL. -EIO: an overrun has broken
  /// the queue, and what lay there has been taken; an adapter would answer 0 for ever, and the
  /// program would wait for ever. `times`: where the completions' times go, or nullptr.
  int poll(int count, ibv_wc* out, std::uint64_t* times = nullptr);
  /// ibv_req_notify_cq: one event on the channel for the next completion that is added (or the next that
  /// is solicited or failed). Completions that are there already do not count. EIO: broken by an overrun,
  /// so none would ever come.
  Expected<void, Failure> request_notification(bool solicited_only);
  /// ibv_ack_cq_events.
  void acknowledge(unsigned events);
  /// ibv_resize_cq. EINVAL: bad size, or more completions waiting than fit; EIO: broken by an
  /// overrun. Returns the new size.
  Expected<int, Failure> resize(int entries);

  /// ibv_modify_cq with IBV_CQ_ATTR_MODERATE: see EventModeration; the period in microseconds. An event that
  /// waits comes at once. EINVAL: a longer period than is possible.
  Expected<void, Failure> moderate(std::uint16_t count, std::uint16_t period);

  /// Adds a completion; tells the channel when armed. The first that is lost raises IBV_EVENT_CQ_ERR.
  Pushed push(const ibv_wc& wc, bool solicited);
  /// The same for whoever is on no lane, where an event could wait and a QP could be told: the event does not
  /// wait, and of one that is lost IBV_EVENT_CQ_ERR tells alone.
  void push_at_once(const ibv_wc& wc);
  /// After Pushed::event_waits: when to call tell_when_due(). kNever: it is not needed any more.
  TimePoint next_look();
  /// The time `look` has come, which next_look() or this gave: tells the channel if the event is due. Returns
  /// when to call it again, or kNever.
  TimePoint tell_when_due(TimePoint look, TimePoint now);
  /// Whether a completion may go to a thread that polls this queue without lying in it: nothing lies there,
  /// and no event is to tell of it. With the lock of the lane that the completion comes from.
  bool may_pass() const {
    return ring_.size() == 0 && armed_.load(std::memory_order_relaxed) == Armed::no &&
           !overrun_.load(std::memory_order_relaxed);
  }
  /// Removes the completions that go with a QP which is destroyed or reset (see goes_with()).
  void purge(std::uint32_t qpn);

  // ---- for ExtendedPoll, one at a time

  /// From now on until end_batch() the QPs are noted whose completions are purged.
  void begin_batch() { batch_.store(true, std::memory_order_relaxed); }
  bool purged_in_batch(const ibv_wc& wc) {
    return any_purged_.load(std::memory_order_relaxed) && was_purged(wc);
  }
  /// Puts back what was taken last and not used, but for what was purged.
  void end_batch(std::span<const ibv_wc> unused, const std::uint64_t* times);

  // ---- for the QPs that use it
  void add_user(LanePort& lane) {
    add_user();
    add_lane(lane);
  }
  /// An XRC SRQ, which is fed by the lanes of its domain's target QPs.
  void add_user() { uses_.add(); }
  /// From now on poll() drives this lane too, which outlives the queue.
  void add_lane(LanePort& lane);
  void remove_user() { uses_.release(); }

 private:
  friend class CompletionChannel;
  enum class Armed : std::uint8_t { no, solicited, next };

  CompletionQueue(Context& context, const CompletionQueueInit& init);
  std::uint64_t arrival_time() const;
  int take(int count, ibv_wc* out, std::uint64_t* times);
  Pushed add(const ibv_wc& wc, bool solicited, bool may_wait);
  Pushed bring_event(bool may_wait);
  void tell();
  void forget_looks();
  bool was_purged(const ibv_wc& wc);
  bool is_purged(const ibv_wc& wc) const;
  void look_after_lanes(std::uint32_t found);
  std::uint32_t drive_lanes(CompletionSink& sink);
  Unexpected<Failure> refused_as_broken() const;
  MemorySource* memory_source() const;

  Context& context_;
  CompletionChannel* const channel_;
  const bool ignores_overrun_;
  ProtectionDomain* const parent_;
  UseCount uses_;
  QuickMutex mutex_;
  const HeldAcrossFork held_{mutex_, HeldAcrossFork::Rank::completion_queue};
  CompletionRing ring_;
  std::atomic<std::uint32_t> capacity_{0};  ///< written under the lock
  std::atomic<Armed> armed_{Armed::no};     ///< written under the lock
  std::atomic<bool> overrun_{false};        ///< written under the lock
  EventModeration moderation_;
  std::atomic<bool> was_moderated_{false};  ///< a lane may have a look at it in its timetable

  /// Completions that brought and will bring no event, as the queue was not armed when they came
  std::atomic<std::uint32_t> missed_{0};
  // guarded by the channel's lock
  std::uint32_t fetched_events_ = 0;
  std::uint32_t acked_events_ = 0;

  std::array<std::atomic<LanePort*>, kProcessLanes> lanes_{};
  std::atomic<std::uint32_t> found_{0};  ///< without a look at the lanes
  PollBackoff backoff_;

  std::atomic<bool> batch_{false};  ///< an extended poll has begun
  std::atomic<bool> any_purged_{false};
  std::vector<std::uint32_t> purged_;  ///< QPNs; guarded by the lock
};

}  // namespace softrnic::rnic
