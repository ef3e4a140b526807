// Completion moderation (ibv_modify_cq(3), IBV_CQ_ATTR_MODERATE): the event of an armed completion queue
// waits until enough completions have come, or a time has passed since the first of them.
//
// Only a completion that would bring the event is counted: a queue that is armed for solicited completions
// counts those and failures (IBTA 11.4.2.2).
#pragma once

#include <cstdint>

#include "base/time.h"

namespace softrnic::rnic {

/// The lock of its completion queue guards it.
class EventModeration {
 public:
  struct Settings {
    std::uint16_t count = 0;  ///< completions; 0: any number, 1: each brings its event at once
    Duration period{};        ///< since the first; zero: as long as the count takes
  };

  /// From now on; an event that waits is to be told before.
  void set(const Settings& settings) { settings_ = settings; }
  /// Whether events wait at all.
  bool on() const {
    return settings_.count > 1 || (settings_.count == 0 && settings_.period > Duration::zero());
  }

  /// A completion came that brings the event. True: the event is due; false: it waits.
  bool completed();
  /// Whether an event waits.
  bool waits() const { return completions_ != 0; }
  /// The event that waits is due by its time.
  bool overdue(TimePoint now) const { return waits() && due_ <= now; }
  /// No event waits any more.
  void told();

  // ---- who looks at it in time: one lane at a time, by a look that it has entered in its timetable

  /// An event waits, and no look is entered that comes in time.
  bool is_unwatched() const { return due_ < look_; }
  /// When to look at an event that is_unwatched(), as whoever calls it will; kNever: it is not, any more.
  TimePoint take_look();
  /// A look that take_look() or look_again() gave has come, and has found an event overdue or none. When to
  /// look again, or kNever.
  TimePoint look_again(TimePoint look);

 private:
  Settings settings_;
  std::uint32_t completions_ = 0;  ///< that wait for one event
  TimePoint due_ = kNever;         ///< of that event
  TimePoint look_ = kNever;        ///< the earliest that is entered
};

}  // namespace softrnic::rnic
