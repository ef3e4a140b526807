// What faults are thrown by: the same seed gives the same row of numbers.
#pragma once

#include <cstdint>

namespace softrnic::link {

/// splitmix64 (Steele, Lea, Flood 2014).
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed) {}

  std::uint64_t draw() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15U;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
  }
  /// From 0 to below 1.
  double roll() { return static_cast<double>(draw() >> 11) * 0x1p-53; }

 private:
  std::uint64_t state_;
};

}  // namespace softrnic::link
