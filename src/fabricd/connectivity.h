// Whether two ports can talk, and if not, why: `softrnic fabric why`.
#pragma once

#include <optional>

#include "fabricd/obstacles.h"
#include "fabricd/partition_obstacles.h"
#include "fabricd/path_trace.h"

namespace softrnic::fabricd {

struct Question {
  Endport a{};
  Endport b{};
  std::optional<std::uint16_t> p_key{};  ///< nothing: any partition they share
  std::uint8_t sl = 0;
  TimePoint now{};
};

struct Connectivity {
  Obstacles obstacles;
  std::optional<SharedPartition> partition;
  std::optional<PathTrace> there, back;  ///< nothing: the LID is not known

  bool can_talk() const { return !obstacles.any_blocks(); }
};

/// Looks at both ways, as packets without an answer are of no use.
Connectivity examine(const FabricState& state, const Question& question);

}  // namespace softrnic::fabricd
