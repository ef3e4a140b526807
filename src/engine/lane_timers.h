// The one timer of a lane, and what is to be seen of its time without its lock.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/clock.h"

namespace softrnic::engine {

/// The lane's lock guards it, except where it says otherwise.
class LaneTimers {
 public:
  LaneTimers();
  ~LaneTimers();
  LaneTimers(const LaneTimers&) = delete;
  LaneTimers& operator=(const LaneTimers&) = delete;

  static constexpr Duration kLeftToPolls = std::chrono::milliseconds(1);

  /// What a lane has before it at `now`.
  struct Plan {
    TimePoint now;
    TimePoint batch;     ///< when a batch is due, whoever runs it
    TimePoint poll;      ///< the same, but the engine thread leaves it to a poll for kLeftToPolls
    bool undone;         ///< one is due at once
    Duration hand_over;  ///< but the engine thread leaves that to a program that polls for so long
    TimePoint thread;    ///< when something is due that only the engine thread does
  };
  /// The timer goes off in time for all of that; earlier, if it was armed so.
  void arm(const Plan& plan);
  /// Between two plans something came up that is due at `when` by a batch, as in the next plan.
  void bring_forward(TimePoint when);
  /// What the timer was armed for may not be due any more, and would wake a thread for nothing.
  void disarm();
  /// The engine thread has come: if the timer has gone off, it is armed no more.
  void take_expiration();
  /// When the timer goes off, or kNever.
  TimePoint armed() const { return armed_; }
  /// In a forked child: the descriptor is closed.
  void abandon();

  // ---- without the lock

  /// False: descriptors ran out, and there is no timer.
  bool valid() const { return fd_ >= 0; }
  /// Readable when the timer has gone off.
  int fd() const { return fd_; }
  /// Whether a batch is due even if no packet comes.
  bool batch_is_due(TimePoint now) const { return ns_of(now) >= batch_ns_.load(std::memory_order_relaxed); }
  /// Whether something is due that only the engine thread does.
  bool needs_thread() const { return needs_thread_.load(std::memory_order_relaxed); }

 private:
  void go_off_at(TimePoint when);

  int fd_;
  TimePoint armed_ = kNever;
  std::atomic<std::int64_t> batch_ns_{0};
  std::atomic<bool> needs_thread_{false};
};

}  // namespace softrnic::engine
