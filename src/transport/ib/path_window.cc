#include "transport/ib/path_window.h"

#include <algorithm>

namespace softrnic::ib {
namespace {

constexpr std::uint32_t kGrowth = 8 * 1024;                // bytes a round of additive increase adds
constexpr Duration kRound = std::chrono::milliseconds(1);  // losses closer together than this are one loss
constexpr std::int64_t kNanosecondsPerSecond = 1'000'000'000;

}  // namespace

PathWindow::PathWindow(const Limits& limits)
    : network_(limits), limits_(limits), window_(limits.initial_bytes), tokens_(limits.unacked_burst_bytes) {}

void PathWindow::set_memory(std::uint32_t longest_packet, std::uint32_t window) {
  has_mtu_ = longest_packet == 0;
  limits_ = network_;
  if (!has_mtu_) {
    limits_.longest_packet = longest_packet;
    limits_.minimum_bytes = limits_.initial_bytes = limits_.maximum_bytes = window;
  }
  window_ = limits_.initial_bytes;
}

void PathWindow::acknowledged(std::uint32_t bytes) {
  forgotten(bytes);
  grown_ += bytes;
  if (grown_ < window_) return;
  grown_ = 0;
  window_ = std::min(window_ + kGrowth, limits_.maximum_bytes);
}

void PathWindow::forgotten(std::uint32_t bytes) { in_flight_ -= std::min(bytes, in_flight_); }

void PathWindow::lost(TimePoint now) {
  if (last_cut_ != TimePoint{} && now - last_cut_ < kRound) return;
  last_cut_ = now;
  grown_ = 0;
  window_ = std::max(window_ / 2, limits_.minimum_bytes);
}

TimePoint PathWindow::admit(std::uint32_t bytes, TimePoint now) {
  if (undecided_) return now + kLookAgain;
  if (gauge_ == nullptr || !gauge_->knows(now)) return take_tokens(bytes, now);
  if (take_room(datagram_cost(bytes), now)) {
    full_since_ = kNever;
    return now;
  }
  if (full_since_ == kNever) full_since_ = now;
  return now - full_since_ < kPatience ? now + kLookAgain : take_tokens(bytes, now);
}

bool PathWindow::take_room(std::uint32_t bytes, TimePoint now) {
  if (room_ < bytes) room_ = gauge_->room(now);
  if (room_ < bytes) return false;
  room_ -= bytes;
  return true;
}

TimePoint PathWindow::take_tokens(std::uint32_t bytes, TimePoint now) {
  const auto rate = static_cast<std::int64_t>(limits_.unacked_bytes_per_second);
  const std::int64_t burst = std::max<std::int64_t>(limits_.unacked_burst_bytes, bytes);
  const std::int64_t elapsed = std::min<std::int64_t>((now - refilled_).count(), kNanosecondsPerSecond);
  // The clock moves on only when something was credited, so that frequent calls do not lose fractions.
  const std::int64_t credit = elapsed * (rate / 1000) / (kNanosecondsPerSecond / 1000);
  if (credit > 0) {
    tokens_ = std::min(tokens_ + credit, burst);
    refilled_ = now;
  }
  if (tokens_ >= bytes) {
    tokens_ -= bytes;
    return now;
  }
  const std::int64_t wait = (bytes - tokens_) * kNanosecondsPerSecond / std::max<std::int64_t>(rate, 1) + 1;
  return now + Duration(wait);
}

}  // namespace softrnic::ib
