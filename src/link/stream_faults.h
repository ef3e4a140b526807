// What befalls the streams of a lane on purpose, by a plan and a seed. The same seed and the same sequence of
// writes give the same faults. TCP hides losses and what is late or comes twice; these it does not hide.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/time.h"
#include "link/dice.h"
#include "link/fault_plan.h"

namespace softrnic::link {

class StreamFaults {
 public:
  /// How long a stream stands still.
  static constexpr Duration kStall = std::chrono::milliseconds(20);
  /// What is left of a write that is split.
  static constexpr std::size_t kLongestSplit = 1500;

  explicit StreamFaults(const FaultPlan& plan) : plan_(plan), dice_(plan.seed) {}

  enum class Fate : std::uint8_t { passes, cut, stalls };
  /// What is to become of a write of these pieces, of which it may leave less, or damage a bit: then they lie
  /// elsewhere, until the next call.
  Fate befall(std::span<Bytes>& pieces);

 private:
  void split(std::span<Bytes>& pieces, std::size_t most) const;
  void damage(std::span<Bytes> pieces, std::uint64_t bit);

  FaultPlan plan_;
  Dice dice_;
  std::vector<std::byte> damaged_;
};

}  // namespace softrnic::link
