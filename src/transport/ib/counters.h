// What is counted of a queue pair and of a lane: one table (counters.def), the values, and their sums for
// others.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace softrnic::ib {

enum class Counter : std::uint8_t {
#define SOFTRNIC_COUNTER(name, description) name,
#include "transport/ib/counters.def"
#undef SOFTRNIC_COUNTER
  count_,
};

inline constexpr std::size_t kCounters = static_cast<std::size_t>(Counter::count_);

struct CounterInfo {
  const char* name;
  const char* description;
};

/// By Counter.
inline constexpr std::array<CounterInfo, kCounters> kCounterInfos{{
#define SOFTRNIC_COUNTER(name, description) {#name, description},
#include "transport/ib/counters.def"
#undef SOFTRNIC_COUNTER
}};

/// One of them, summed up for others to see; one thread at a time writes it.
using Total = std::atomic<std::uint64_t>;
inline void add(Total& total, std::uint64_t by) {
  total.store(total.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
}

/// How often each of them happened.
class Counters {
 public:
  std::uint64_t& operator[](Counter counter) { return values_[static_cast<std::size_t>(counter)]; }
  std::uint64_t operator[](Counter counter) const { return values_[static_cast<std::size_t>(counter)]; }
  /// In the order of Counter.
  const auto& values() const { return values_; }

 private:
  std::array<std::uint64_t, kCounters> values_{};
};

}  // namespace softrnic::ib
