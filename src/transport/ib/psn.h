// Packet sequence numbers that do not wrap.
//
// The wire carries 24 bits. Inside, a PSN is a 64-bit count whose low 24 bits are what the wire carries, so
// that comparison and subtraction just work. A number from the wire is taken as the one nearest to a PSN
// known to be current: 2^23 - 1 ahead to 2^23 behind (IBTA 9.7.2, the PSN validity window).
#pragma once

#include <compare>
#include <cstdint>

#include "wire/headers.h"

namespace softrnic::ib {

class Psn {
 public:
  constexpr Psn() = default;
  /// The first PSN of a connection. Room is left below it, so that numbers behind it stay positive.
  static constexpr Psn first(std::uint32_t wire) { return Psn((1ULL << 32) | (wire & wire::kPsnMask)); }

  constexpr std::uint32_t wire() const { return static_cast<std::uint32_t>(value_) & wire::kPsnMask; }
  constexpr auto operator<=>(const Psn&) const = default;

  friend constexpr Psn operator+(Psn psn, std::uint64_t packets) { return Psn(psn.value_ + packets); }
  friend constexpr std::uint64_t operator-(Psn later, Psn earlier) { return later.value_ - earlier.value_; }
  constexpr Psn& operator++() {
    ++value_;
    return *this;
  }
  constexpr Psn previous() const { return Psn(value_ - 1); }

  /// The PSN with these 24 bits that is nearest to `near`.
  static constexpr Psn unwrap(std::uint32_t wire, Psn near) {
    const std::uint32_t distance = (wire - static_cast<std::uint32_t>(near.value_)) & wire::kPsnMask;
    return distance < kHalf ? Psn(near.value_ + distance) : Psn(near.value_ + distance - 2 * kHalf);
  }

  /// Half of the number space: no more may be outstanding (IBTA 9.7.1).
  static constexpr std::uint64_t kHalf = 1ULL << 23;

 private:
  constexpr explicit Psn(std::uint64_t value) : value_(value) {}
  std::uint64_t value_ = 0;
};

/// Packets of a message: at least one (IBTA 9.7.2: a zero-length message takes one PSN).
constexpr std::uint32_t packets_of(std::uint32_t bytes, std::uint32_t mtu) {
  return bytes <= mtu ? 1 : static_cast<std::uint32_t>((std::uint64_t{bytes} + mtu - 1) / mtu);
}

}  // namespace softrnic::ib
