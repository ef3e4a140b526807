// What is remembered of the reasons of one object.
#pragma once

#include <array>
#include <cstdint>

#include "base/reason.h"

namespace softrnic {

/// Whether it is a note: the adapter goes on by itself, or something else was the cause. All others are
/// errors.
bool is_note(ReasonId id);

/// CLOCK_REALTIME, for Explanation::time_ns.
std::uint64_t wall_clock_ns();

/// The latest reasons, each with the number of times it came. Where there is no room, the oldest
/// note makes place, or else the oldest error, but for an error only: so what comes afterwards
/// does not hide what mattered.
class ExplanationHistory {
 public:
  static constexpr std::size_t kPlaces = 6;

  struct Entry {
    Explanation latest;
    std::uint64_t times = 0;  ///< 0: an empty place
  };

  void add(const Explanation& explanation);
  /// In no order; time_ns tells.
  const std::array<Entry, kPlaces>& entries() const { return entries_; }
  /// The last one that found a place; `reason.id` is none before the first.
  const Explanation& latest() const { return entries_[latest_].latest; }

 private:
  std::size_t place_for(ReasonId id) const;

  std::array<Entry, kPlaces> entries_{};
  std::array<std::uint64_t, kPlaces> order_{};  ///< when each was added last, in numbers of additions
  std::uint64_t added_ = 0;
  std::size_t latest_ = 0;
};

}  // namespace softrnic
