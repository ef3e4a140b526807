// Traps that come again and again: a port that babbles must not keep the manager sweeping (opensm has the
// same limit of 10 repetitions).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

#include "base/time.h"
#include "subnet/graph.h"

namespace softrnic::subnet {

class TrapFilter {
 public:
  static constexpr unsigned kMostInARow = 10;
  static constexpr Duration kQuiet = std::chrono::seconds(5);  ///< after it, a trap is a new one
  static constexpr std::size_t kMostKept = 4096;

  /// Whether a trap of that number from that LID is to be acted on.
  bool admit(Lid lid, std::uint16_t trap, TimePoint now) {
    if (traps_.size() >= kMostKept)
      std::erase_if(traps_, [&](const auto& t) { return t.second.until <= now; });
    if (traps_.size() >= kMostKept) return false;
    Seen& seen = traps_[{lid, trap}];
    if (seen.until <= now) seen.count = 0;
    seen.until = now + kQuiet;
    return ++seen.count <= kMostInARow;
  }

 private:
  struct Seen {
    unsigned count = 0;
    TimePoint until{};
  };
  std::map<std::pair<Lid, std::uint16_t>, Seen> traps_;
};

}  // namespace softrnic::subnet
