// What stands in the way of packets on one way of theirs, hop by hop.
#pragma once

#include <optional>

#include "fabricd/obstacles.h"
#include "fabricd/path_trace.h"

namespace softrnic::fabricd {

struct PathTraffic {
  wire::Lid to{};
  std::uint8_t sl = 0;
  std::optional<std::uint16_t> p_key{};  ///< as packets carry it; nothing: not known
  TimePoint now{};
};

void find_path_obstacles(const FabricState& state, const PathTrace& trace, const PathTraffic& traffic,
                         Obstacles& found);

}  // namespace softrnic::fabricd
