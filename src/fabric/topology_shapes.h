// Fabrics of regular shape, made from a short text.
//
//   specification = "" | SHAPE [(":" | ",") item *("," item)]
//   item          = the size of the shape, first | NAME "=" NUMBER | "width=4x" | "speed=EDR" | "ports=36"
//
// Hosts are named host1, host2, … in the order of the switches they are at, and have one port. The hosts of a
// switch are at its first ports.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/expected.h"
#include "fabric/shape_arguments.h"
#include "fabric/shape_plan.h"
#include "fabric/topology.h"

namespace softrnic::fabric {

/// One shape, for the generator and for whoever prints help.
struct Shape {
  std::string_view name;
  std::string_view syntax;    ///< "ring:SWITCHES[,hosts=N]"
  std::string_view sentence;  ///< for the help
  std::string_view standard;  ///< the specification that the name alone stands for
  ShapePositional positional;
  std::span<const ShapeParameter> parameters;
  Expected<ShapePlan, std::string> (*draw)(const ShapeArguments& arguments);
};

std::span<const Shape> topology_shapes();

/// Options of every shape, for the help.
struct ShapeOption {
  std::string_view syntax;
  std::string_view sentence;
};
std::span<const ShapeOption> common_shape_options();

/// What an empty specification stands for: 4 hosts, 2 leaf switches, 1 spine switch.
inline constexpr std::string_view kDefaultShape = "fat-tree:leaves=2,spines=1,hosts=2";

/// The fabric, or a sentence that says what is wrong and what is allowed.
Expected<Topology, std::string> make_topology(std::string_view specification);

/// Switches in rows: the shapes torus and mesh.
struct Grid {
  std::vector<std::uint32_t> dimensions;  ///< switches in a row of each, 2 or more
  bool rings = false;                     ///< rows of more than 2 end where they begin

  /// The place among the nodes of its topology of the switch that is so many steps (below its size) from the
  /// first one in that dimension.
  NodeIndex switch_at(std::size_t dimension, std::uint32_t steps) const;
};

/// Nothing: it is another shape, or none.
std::optional<Grid> grid_of(std::string_view specification);

}  // namespace softrnic::fabric
