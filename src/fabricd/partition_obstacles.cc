#include "fabricd/partition_obstacles.h"

#include <utility>

namespace softrnic::fabricd {
namespace {

using fabric::kFullMember;
using fabric::kPartition;
using fabric::ManagedPort;

/// Its entry for that partition; 0: it has none.
std::uint16_t entry_of(const ManagedPort& port, std::uint16_t partition) {
  const auto index = port.find_p_key(partition);
  return index ? port.p_keys[*index] : std::uint16_t{0};
}

}  // namespace

std::optional<SharedPartition> find_shared_partition(const FabricState& state, fabric::PortAddress a,
                                                     fabric::PortAddress b,
                                                     std::optional<std::uint16_t> wanted, Obstacles& found) {
  const ManagedPort *const one = state.managed(a), *const other = state.managed(b);
  if (one == nullptr || other == nullptr) return std::nullopt;
  std::optional<Obstacle> limited;
  for (const std::uint16_t entry : one->p_keys) {
    const std::uint16_t partition = entry & kPartition;
    if (partition == 0 || (wanted && partition != (*wanted & kPartition))) continue;
    const SharedPartition shared{entry_of(*one, partition), entry_of(*other, partition)};
    if (shared.of_b == 0) continue;
    if (((shared.of_a | shared.of_b) & kFullMember) != 0) {
      for (const auto& [port, address] : {std::pair(one, a), std::pair(other, b)})
        if (!wanted && (port->p_keys[0] & kPartition) != partition)
          found.add({.kind = ObstacleKind::p_key_index, .at = address, .p_key = entry_of(*port, partition)});
      return shared;
    }
    limited = {.kind = ObstacleKind::limited_members, .at = a, .peer = b, .p_key = partition};
  }
  if (limited) {
    found.add(*limited);
  } else if (!wanted) {
    found.add({.kind = ObstacleKind::no_partition, .at = a, .peer = b});
  }
  for (const auto& [port, address] : {std::pair(one, a), std::pair(other, b)})
    if (wanted && entry_of(*port, *wanted & kPartition) == 0)
      found.add({.kind = ObstacleKind::p_key_missing, .at = address, .p_key = *wanted});
  return std::nullopt;
}

}  // namespace softrnic::fabricd
