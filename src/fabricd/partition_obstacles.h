// Partitions of two ports: which one they can talk in, and what stands in the way of that (IBTA 10.9.3).
#pragma once

#include <cstdint>
#include <optional>

#include "fabricd/obstacles.h"

namespace softrnic::fabricd {

/// The P_Keys that packets of the one and of the other carry.
struct SharedPartition {
  std::uint16_t of_a = 0;
  std::uint16_t of_b = 0;
};

/// `wanted`: that partition and no other; its membership does not count.
std::optional<SharedPartition> find_shared_partition(const FabricState& state, fabric::PortAddress a,
                                                     fabric::PortAddress b,
                                                     std::optional<std::uint16_t> wanted, Obstacles& found);

}  // namespace softrnic::fabricd
