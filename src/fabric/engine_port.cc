#include "fabric/engine_port.h"

#include <algorithm>

namespace softrnic::fabric {
namespace {

constexpr Passage kNothing{};
/// By PortState.
constexpr std::array<Passage, 5> kPassages = {{
    kNothing,
    kNothing,                    // down
    {true, true, false, false},  // init
    {true, true, true, false},   // armed
    {true, true, true, true},    // active
}};

}  // namespace

Passage passage_of(PortState state) {
  const auto row = static_cast<std::size_t>(state);
  return row < kPassages.size() ? kPassages[row] : kNothing;
}

std::optional<std::uint8_t> EnginePort::map_vl(std::uint8_t from, std::uint8_t sl) const {
  const SlToVl& table = sl_to_vl[from < sl_to_vl.size() ? from : 0];
  std::uint8_t vl = table[sl & 0xf];
  if (vl == kUnsetVl) vl = static_cast<std::uint8_t>(sl % attributes.operational_vls);
  if (vl >= attributes.operational_vls) return std::nullopt;
  return vl;
}

bool EnginePort::owns(wire::Lid dlid) const {
  const auto path_bits = static_cast<std::uint16_t>((1U << attributes.lmc) - 1);
  return ((dlid.value ^ attributes.lid.value) & ~path_bits & 0xffff) == 0;
}

std::optional<std::uint8_t> EnginePort::choose_vl() {
  const VlMask may = held ? ready & vl_bit(kManagementVl) : ready;
  if (may == 0) return std::nullopt;
  if (attributes.operational_vls == 1 && (may & vl_bit(kManagementVl)) == 0) return std::uint8_t{0};
  return arbiter.choose(may);
}

void EnginePort::count_sent(std::uint8_t vl, std::uint16_t blocks) {
  if (attributes.operational_vls > 1) arbiter.sent(blocks);
  if (is_external() && vl != kManagementVl) out[vl].credit.sent(blocks);
}

// What a division by the rate leaves is carried on, so that many packets take exactly the time of their sum.
void EnginePort::occupy(TimePoint now, std::size_t bytes, const Rate& rate) {
  if (now > busy_until) rate_remainder = 0;
  busy_until = std::max(now, busy_until);
  if (rate.is_unlimited()) return;
  const std::uint64_t time = bytes * std::uint64_t{rate.nanoseconds} + rate_remainder;
  rate_remainder = time % rate.bytes;
  busy_until += Duration(static_cast<std::int64_t>(time / rate.bytes));
}

void EnginePort::set_attributes(const PortAttributes& wanted) {
  attributes = wanted;
  const auto mtu = std::clamp<std::size_t>(wanted.neighbor_mtu, 256, kMaxMtu);
  attributes.neighbor_mtu = static_cast<std::uint16_t>(mtu);
  attributes.operational_vls = std::clamp<std::uint8_t>(wanted.operational_vls, 1, kDataVls);
  attributes.lmc = std::min<std::uint8_t>(wanted.lmc, 7);
  operational = static_cast<VlMask>((1U << attributes.operational_vls) - 1);
  hoq_life = lifetime_of(attributes.hoq_life);
}

void EnginePort::count_wait(TimePoint now) { counters.xmit_wait += open_wait(now); }

void EnginePort::count_wait(TimePoint now, std::uint8_t vl) {
  OutputVl& lane = out[vl];
  if (lane.waiting_since != kNever)
    counters.xmit_wait_by_vl[vl] +=
        std::max(Duration(0), now - std::max(lane.waiting_since, lane.sent_until));
  lane.waiting_since = lane.bids.empty() ? kNever : now;
}

}  // namespace softrnic::fabric
