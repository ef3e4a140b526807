// Counters that stop when they are full, and how a Set clears those that its CounterSelect names (IBTA
// 16.1.3.5).
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "mad/field.h"

namespace softrnic::mad {

/// Of `width` bits, up to 64.
template <unsigned width>
struct Counter {
  static_assert(width > 0 && width <= 64);
  using Rep =
      std::conditional_t<width <= 8, std::uint8_t,
                         std::conditional_t<width <= 16, std::uint16_t,
                                            std::conditional_t<width <= 32, std::uint32_t, std::uint64_t>>>;
  static constexpr unsigned kWidth = width;
  static constexpr Rep kFull = static_cast<Rep>(~std::uint64_t{0} >> (64 - width));

  Rep value = 0;

  constexpr Counter() = default;
  /// What does not fit is full.
  constexpr Counter(std::uint64_t count) : value(count < kFull ? static_cast<Rep>(count) : kFull) {}
  template <unsigned other>
  constexpr Counter(Counter<other> counter) : Counter(std::uint64_t{counter.value}) {}

  constexpr Counter& operator+=(std::uint64_t more) {
    value = more < std::uint64_t{kFull} - value ? static_cast<Rep>(value + more) : kFull;
    return *this;
  }
  constexpr bool is_full() const { return value == kFull; }
  constexpr bool operator==(const Counter&) const = default;
};

/// Gives the counters that `select` names the values they have in `values`; all else stays.
template <Formatted M>
void set_selected(std::uint64_t select, const M& values, M& counters) {
  const auto from = encoded(values);
  auto to = encoded(counters);
  for (const auto& entry : fields_of<M>) {
    if (entry.select < 0) continue;
    const std::size_t width = entry.width / entry.elements;
    for (std::size_t i = 0; i < entry.elements; ++i) {
      const std::size_t bit = static_cast<std::size_t>(entry.select) + i;
      if (bit >= 64 || (select >> bit & 1) == 0) continue;
      const std::size_t place = entry.bit + i * width;
      store_bits(to, place, width, load_bits(from, place, width));
    }
  }
  counters = decode<M>(to);
}

}  // namespace softrnic::mad
