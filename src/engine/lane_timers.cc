#include "engine/lane_timers.h"

#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>

#include "base/unique_fd.h"

namespace softrnic::engine {

LaneTimers::LaneTimers() : fd_(above_stdio(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK))) {}

LaneTimers::~LaneTimers() {
  if (fd_ >= 0) close(fd_);
}

void LaneTimers::arm(const Plan& plan) {
  const TimePoint batch = plan.undone ? plan.now : std::min(plan.batch, plan.poll);
  batch_ns_.store(ns_of(batch), std::memory_order_relaxed);
  needs_thread_.store(plan.thread <= plan.now, std::memory_order_relaxed);
  TimePoint when = std::min(plan.batch, plan.thread);
  if (plan.undone) when = std::min(when, plan.now + plan.hand_over);
  if (plan.poll != kNever) when = std::min(when, plan.poll + kLeftToPolls);
  go_off_at(when);
}

void LaneTimers::bring_forward(TimePoint when) {
  batch_ns_.store(std::min(ns_of(when), batch_ns_.load(std::memory_order_relaxed)),
                  std::memory_order_relaxed);
  go_off_at(when);
}

void LaneTimers::go_off_at(TimePoint when) {
  if (when >= armed_) return;
  armed_ = when;
  itimerspec timer{};
  timer.it_value = to_timespec(when);
  timerfd_settime(fd_, TFD_TIMER_ABSTIME, &timer, nullptr);
}

void LaneTimers::disarm() {
  armed_ = kNever;
  const itimerspec none{};
  timerfd_settime(fd_, 0, &none, nullptr);
}

void LaneTimers::take_expiration() {
  std::uint64_t expirations = 0;
  if (read(fd_, &expirations, sizeof expirations) > 0) armed_ = kNever;
}

void LaneTimers::abandon() {
  close(fd_);
  fd_ = -1;
}

}  // namespace softrnic::engine
