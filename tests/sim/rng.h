// The simulator's only source of chance: the same seed gives the same run on every machine.
#pragma once

#include <cstddef>
#include <cstdint>

namespace softrnic::sim {

class Rng {
 public:
  /// Neighbouring seeds must not give the same sequence shifted by one: the state is the mixed seed.
  explicit Rng(std::uint64_t seed) : state_(seed) { state_ = next() ^ (seed << 32); }

  /// splitmix64
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15U);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
  }
  /// 0 … bound − 1; 0 when bound is 0
  std::uint64_t below(std::uint64_t bound) { return bound == 0 ? 0 : next() % bound; }
  /// low … high inclusive
  std::uint64_t range(std::uint64_t low, std::uint64_t high) { return low + below(high - low + 1); }
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  bool chance(double probability) { return unit() < probability; }
  template <typename T, std::size_t N>
  const T& pick(const T (&choices)[N]) {
    return choices[below(N)];
  }
  /// A generator of its own, so that one consumer does not disturb another's numbers.
  Rng fork() { return Rng(next()); }

 private:
  std::uint64_t state_;
};

}  // namespace softrnic::sim
