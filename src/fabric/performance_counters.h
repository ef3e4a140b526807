// The counters of performance management: which attribute shows what of the counters that the engine keeps
// (IBTA 16.1.3.5, 16.1.4).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/bytes.h"
#include "fabric/managed_node.h"
#include "fabric/port_counters.h"

namespace softrnic::fabric {

/// What a port has counted since it was made.
struct CounterInput {
  const PortCounters& engine;
  const ManagedPort& port;
};

/// Counters by their bit of CounterSelect.
inline constexpr std::size_t kSelectableCounters = 64;
using CounterValues = std::array<std::uint64_t, kSelectableCounters>;

/// `count` counters from CounterSelect bit `select` on, the n-th of which is read(input, n).
struct CounterSource {
  std::uint8_t select;
  std::uint8_t count;
  std::uint64_t (*read)(const CounterInput& input, std::size_t n);
};

struct CounterAttribute {
  std::uint16_t id;
  std::span<const CounterSource> sources;  ///< counters that nothing moves are not among them
  std::uint64_t (*selected)(Bytes data);   ///< the bits of CounterSelect in a Set
  /// Writes the counters, each full where it would be more.
  void (*write)(const CounterValues& values, MutableBytes data);

  CounterValues read(const CounterInput& input) const;
};

inline constexpr std::size_t kCounterAttributes = 16;
std::span<const CounterAttribute, kCounterAttributes> counter_attributes();

/// What a tick of PortXmitWait and of samples is, and its code in PortSamplesControl at a speed: so many
/// times ten bits of a lane, less one (IBTA 16.1.3.2).
inline constexpr Duration kPerformanceTick{4};
std::uint8_t tick_code(const mad::PortInfo& info);

/// In ticks.
std::uint64_t xmit_wait_of(const PortCounters& counters);

}  // namespace softrnic::fabric
