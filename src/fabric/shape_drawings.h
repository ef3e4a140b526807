// How each shape is drawn; what their arguments are stands in the table of topology_shapes.cc.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/expected.h"
#include "fabric/shape_arguments.h"
#include "fabric/shape_plan.h"

namespace softrnic::fabric {

using Drawing = Expected<ShapePlan, std::string>;

/// Two levels: switches leaf1… and spine1…; three (the k-ary fat tree of Al-Fares, Loukissas and Vahdat,
/// 2008): K pods with K/2 switches edge-P-1… and K/2 switches aggregation-P-1…, and K²/4 switches core1….
/// Aggregation switch i of each pod is joined to the i-th K/2 core switches.
Drawing draw_fat_tree(const ShapeArguments& arguments);

/// Switches switch-0…, each joined to the next and the last to the first.
Drawing draw_ring(const ShapeArguments& arguments);
/// Switches switch-X-Y-…, counted from 0; they come first, those of a row in X one after the other.
Drawing draw_torus(const ShapeArguments& arguments);
Drawing draw_mesh(const ShapeArguments& arguments);
/// Switches in a row of each dimension.
std::vector<std::uint32_t> grid_dimensions(const ShapeArguments& arguments);

/// Balanced as by Kim, Dally, Scott and Abts (2008): a·h+1 groups, switches switch-GROUP-I counted from
/// 0. Which two switches join two groups is the absolute arrangement (Hastings et al., 2015): the k-th
/// cable that leaves group g, counted over its switches, leads to group k if k < g, else to group k+1.
Drawing draw_dragonfly(const ShapeArguments& arguments);

Drawing draw_star(const ShapeArguments& arguments);
Drawing draw_pair(const ShapeArguments& arguments);

}  // namespace softrnic::fabric
