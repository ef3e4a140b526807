// The completion queues whose events wait (rnic::EventModeration), and when a lane has to look at each.
#pragma once

#include <vector>

#include "base/time.h"
#include "engine/lane_timers.h"

namespace softrnic::rnic {
class CompletionQueue;
}

namespace softrnic::engine {

/// Not thread-safe: the lane's lock guards it.
class EventLooks {
 public:
  explicit EventLooks(LaneTimers& timers) : timers_(timers) {}

  /// A completion that the lane has pushed makes an event wait: enters a look at it, and has the lane's timer
  /// go off in time. If memory runs out the event comes at once.
  void enter(rnic::CompletionQueue& cq);
  /// When the first look is due, or kNever.
  TimePoint due() const { return heap_.empty() ? kNever : heap_.front().when; }
  /// Looks at all that are due.
  void look(TimePoint now);
  void forget(const rnic::CompletionQueue& cq);
  void clear() { heap_.clear(); }

 private:
  struct Look {
    TimePoint when;
    rnic::CompletionQueue* cq;
  };
  static bool later(const Look& a, const Look& b) { return a.when > b.when; }

  LaneTimers& timers_;
  std::vector<Look> heap_;  ///< the earliest first
};

}  // namespace softrnic::engine
