#include "fabric/torus_2qos_writer.h"

#include <string_view>

#include "fabric/hex.h"

namespace softrnic::fabric {
namespace {

constexpr std::string_view kAxes = "xyz";

/// "xp_link 0x… 0x…": from the first switch to the one so many steps away; `way` is p or m.
std::string link(const Grid& grid, const Topology& topology, std::size_t axis, char way,
                 std::uint32_t steps) {
  const auto guid = [&](std::uint32_t at) {
    return "0x" + hex16(topology.node(grid.switch_at(axis, at)).guid.value);
  };
  return std::string{kAxes[axis], way} + "_link " + guid(0) + " " + guid(steps) + "\n";
}

}  // namespace

// Both ways of each ring are told: the engine needs them where a ring has four switches.
std::optional<std::string> write_torus_2qos(const Grid& grid, const Topology& topology) {
  const auto& sizes = grid.dimensions;
  if (sizes.size() > kAxes.size()) return std::nullopt;
  std::string text = grid.rings ? "torus" : "mesh";
  for (std::size_t axis = 0; axis < kAxes.size(); ++axis)
    text += " " + std::to_string(axis < sizes.size() ? sizes[axis] : 1);
  text += "\n";
  for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
    text += link(grid, topology, axis, 'p', 1);
    if (grid.rings && sizes[axis] > 2) text += link(grid, topology, axis, 'm', sizes[axis] - 1);
  }
  return text;
}

}  // namespace softrnic::fabric
