#include "fabricd/link_load.h"

#include <utility>

#include "mad/link.h"

namespace softrnic::fabricd {
namespace {

constexpr std::uint64_t kWordBytes = 4;
constexpr std::uint64_t kNanoseconds = 1'000'000'000;
constexpr std::uint64_t kBytesOfKilobit = 125;

}  // namespace

// After a pause the last second was without a packet, whatever there was before it.
void LinkLoad::keep(const fabric::Engine& engine, TimePoint now) {
  const bool pause = is_idle(now);
  std::swap(before_, latest_);
  latest_.when = now;
  latest_.words.clear();
  for (const fabric::EnginePort& port : engine.ports()) latest_.words.push_back(port.counters.xmit_data);
  const bool first = before_.words.empty();
  if (!pause && !first) return;
  before_.words = latest_.words;
  before_.when = first ? now : now - kWindow;
}

// A PMA may have cleared the counter since.
std::uint64_t LinkLoad::bytes_sent(const fabric::EnginePort& port, TimePoint now) const {
  if (is_idle(now) || port.id.value >= before_.words.size()) return 0;
  const std::uint64_t then = before_.words[port.id.value], words = port.counters.xmit_data;
  return (words >= then ? words - then : words) * kWordBytes;
}

std::uint64_t rate_of(const fabric::Link& link, const mad::PortInfo& info) {
  if (!link.rate.is_unlimited()) return link.rate.bytes * kNanoseconds / link.rate.nanoseconds;
  const mad::SpeedInfo* const speed = mad::find_speed(info.link_speed_active, info.link_speed_ext_active);
  return speed == nullptr ? 0
                          : std::uint64_t{mad::lanes_of(info.link_width_active)} * speed->lane_data_kbits *
                                kBytesOfKilobit;
}

}  // namespace softrnic::fabricd
