// How many bytes of acknowledged services may be in flight on a path: additive increase, halved on loss (as
// RFC 5681 avoids congestion). It hears what was sent, acknowledged, given up and lost, and says how much
// room there is; what takes its place has to do no more. Pure: time is given.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace softrnic::ib {

class CongestionWindow {
 public:
  /// Bytes; minimum <= initial <= maximum.
  struct Limits {
    std::uint32_t initial = 0;
    std::uint32_t minimum = 0;
    std::uint32_t maximum = 0;
  };

  explicit CongestionWindow(const Limits& limits) : limits_(limits), window_(limits.initial) {}
  /// It is another path from now on; what is in flight stays so.
  void restart(const Limits& limits);

  /// Whether a packet may go now: one always may when nothing is in flight, however small the window.
  bool has_room() const { return in_flight_ == 0 || in_flight_ < window_; }
  /// Bytes left of the window.
  std::uint32_t room() const { return in_flight_ >= window_ ? 0 : window_ - in_flight_; }
  /// With less room than this a message waits rather than go on in small pieces, which would cost more
  /// datagrams, and so would their ACKs (silly window avoidance, RFC 9293, 3.8.6.2.1).
  std::uint32_t silly_below() const { return window_ / kParts; }

  void sent(std::uint32_t bytes) { in_flight_ += bytes; }
  /// `bytes` were acknowledged: they leave the window, and it may grow.
  void acknowledged(std::uint32_t bytes);
  /// `bytes` are given up (flush, go-back): they leave the window.
  void forgotten(std::uint32_t bytes);
  /// A loss was seen at `now`; halves the window at most once a round.
  void lost(TimePoint now);

  std::uint32_t in_flight() const { return in_flight_; }
  std::uint32_t window() const { return window_; }

  /// For tests: what of its promises to itself does not hold; nullptr: all does.
  const char* broken_invariant() const;

 private:
  static constexpr std::uint32_t kParts = 8;

  Limits limits_;
  std::uint32_t window_;
  std::uint32_t in_flight_ = 0;
  std::uint32_t grown_ = 0;  ///< bytes acknowledged since the last increase
  TimePoint last_cut_{};
};

}  // namespace softrnic::ib
