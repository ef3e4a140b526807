// What people are told of an obstacle, and of its cure.
#pragma once

#include <string>

#include "fabricd/obstacles.h"

namespace softrnic::fabricd {

/// What cures depend on.
struct CureContext {
  std::string fabric;          ///< its name
  bool has_manager = true;     ///< of its own
  fabric::PortAddress from{};  ///< of the two ports the first
};

struct ObstacleText {
  std::string seen;
  std::string cure;
};
/// Sentences without a full stop. Names of nodes are in them as they are.
ObstacleText text_of(const FabricState& state, const Obstacle& obstacle, const CureContext& context);

}  // namespace softrnic::fabricd
