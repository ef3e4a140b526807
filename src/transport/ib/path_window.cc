#include "transport/ib/path_window.h"

namespace softrnic::ib {
namespace {

CongestionWindow::Limits congestion_limits(const PathWindow::Limits& limits) {
  return {limits.initial_bytes, limits.minimum_bytes, limits.maximum_bytes};
}

}  // namespace

PathWindow::PathWindow(const Limits& limits)
    : network_(limits),
      congestion_(congestion_limits(limits)),
      pacer_({limits.unacked_bytes_per_second, limits.unacked_burst_bytes}),
      longest_packet_(limits.longest_packet) {}

void PathWindow::set_memory(std::uint32_t longest_packet, std::uint32_t window) {
  has_mtu_ = longest_packet == 0;
  longest_packet_ = has_mtu_ ? network_.longest_packet : longest_packet;
  congestion_.restart(has_mtu_ ? congestion_limits(network_)
                               : CongestionWindow::Limits{window, window, window});
}

PathWindow::Admission PathWindow::admit(std::uint32_t bytes, TimePoint now) {
  if (undecided_) return {now + kLookAgain, false};
  switch (gauged_.take(bytes, now)) {
    case GaugedRoom::Answer::granted:
      return {now, true};
    case GaugedRoom::Answer::full:
      return {now + kLookAgain, false};
    case GaugedRoom::Answer::unknown:
      break;
  }
  return {pacer_.take(bytes, now), true};
}

const char* PathWindow::broken_invariant() const {
  if (const char* broken = congestion_.broken_invariant()) return broken;
  return gauged_.broken_invariant();
}

}  // namespace softrnic::ib
