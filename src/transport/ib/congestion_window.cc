#include "transport/ib/congestion_window.h"

#include <algorithm>

namespace softrnic::ib {
namespace {

constexpr std::uint32_t kGrowth = 8 * 1024;                // bytes a round of additive increase adds
constexpr Duration kRound = std::chrono::milliseconds(1);  // losses closer together than this are one loss

}  // namespace

void CongestionWindow::restart(const Limits& limits) {
  limits_ = limits;
  window_ = limits.initial;
}

void CongestionWindow::acknowledged(std::uint32_t bytes) {
  forgotten(bytes);
  grown_ += bytes;
  if (grown_ < window_) return;
  grown_ = 0;
  window_ = std::min(window_ + kGrowth, limits_.maximum);
}

void CongestionWindow::forgotten(std::uint32_t bytes) { in_flight_ -= std::min(bytes, in_flight_); }

void CongestionWindow::lost(TimePoint now) {
  if (last_cut_ != TimePoint{} && now - last_cut_ < kRound) return;
  last_cut_ = now;
  grown_ = 0;
  window_ = std::max(window_ / 2, limits_.minimum);
}

const char* CongestionWindow::broken_invariant() const {
  if (window_ < limits_.minimum) return "the congestion window is smaller than its minimum";
  if (window_ > limits_.maximum) return "the congestion window is larger than its maximum";
  return nullptr;
}

}  // namespace softrnic::ib
