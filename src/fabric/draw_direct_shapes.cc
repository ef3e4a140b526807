// Shapes in which every switch has hosts, and those without levels.
#include <algorithm>
#include <string>
#include <vector>

#include "fabric/shape_drawings.h"

namespace softrnic::fabric {
namespace {

using Dimensions = std::vector<std::uint32_t>;

std::string grid_name(std::uint64_t position, const Dimensions& dimensions) {
  std::string name = "switch";
  for (const std::uint32_t size : dimensions) {
    name += "-" + std::to_string(position % size);
    position /= size;
  }
  return name;
}

/// The size of a grid, or one that no fabric has when it would not fit in the number.
std::uint64_t switches_of(const Dimensions& dimensions) {
  std::uint64_t product = 1;
  for (const std::uint32_t size : dimensions)
    product = std::min<std::uint64_t>(product * size, Topology::kMaxPorts);
  return product;
}

/// Position p in a row of `size` has a cable to the next one, and the last one to the first if it is a
/// ring. In a row of 2 these would be the same.
void draw_rows(ShapePlan& plan, std::uint64_t switches, std::uint64_t stride, std::uint32_t size,
               bool rings) {
  for (std::uint64_t at = 0; at < switches; ++at) {
    const std::uint64_t place = at / stride % size;
    if (place + 1 < size) plan.cable(at, at + stride);
    if (place + 1 == size && rings && size > 2) plan.cable(at, at - place * stride);
  }
}

Drawing draw_grid(const Dimensions& dimensions, std::uint32_t hosts, bool rings) {
  const std::uint64_t switches = switches_of(dimensions);
  if (std::string why = ShapePlan::refusal(switches, switches * hosts); !why.empty())
    return Unexpected{std::move(why)};
  ShapePlan plan;
  for (std::uint64_t at = 0; at < switches; ++at) plan.add_switch(grid_name(at, dimensions));
  for (std::uint64_t at = 0; at < switches; ++at) plan.add_hosts(at, hosts);
  std::uint64_t stride = 1;
  for (const std::uint32_t size : dimensions) {
    draw_rows(plan, switches, stride, size, rings);
    stride *= size;
  }
  return plan;
}

struct Dragonfly {
  std::uint32_t a, p, h;

  std::uint64_t groups() const { return std::uint64_t{a} * h + 1; }
  std::size_t switch_at(std::uint64_t group, std::uint64_t i) const { return group * a + i; }
};

void draw_group(ShapePlan& plan, const Dragonfly& shape, std::uint64_t group) {
  for (std::uint32_t i = 0; i < shape.a; ++i) {
    for (std::uint32_t j = i + 1; j < shape.a; ++j)
      plan.cable(shape.switch_at(group, i), shape.switch_at(group, j));
  }
}

/// The cables from a group to those after it: cable k leads to group k+1, where it is the cable of number
/// `group`.
void draw_global_cables(ShapePlan& plan, const Dragonfly& shape, std::uint64_t group) {
  for (std::uint64_t k = group; k + 1 < shape.groups(); ++k)
    plan.cable(shape.switch_at(group, k / shape.h), shape.switch_at(k + 1, group / shape.h));
}

}  // namespace

Dimensions grid_dimensions(const ShapeArguments& arguments) {
  return arguments.dimensions().empty() ? Dimensions{4, 4} : arguments.dimensions();
}

Drawing draw_ring(const ShapeArguments& arguments) {
  return draw_grid({arguments["switches"]}, arguments["hosts"], true);
}

Drawing draw_torus(const ShapeArguments& arguments) {
  return draw_grid(grid_dimensions(arguments), arguments["hosts"], true);
}

Drawing draw_mesh(const ShapeArguments& arguments) {
  return draw_grid(grid_dimensions(arguments), arguments["hosts"], false);
}

Drawing draw_dragonfly(const ShapeArguments& arguments) {
  const Dragonfly shape{arguments["a"], arguments["p"], arguments["h"]};
  const std::uint64_t switches = shape.groups() * shape.a;
  if (std::string why = ShapePlan::refusal(switches, switches * shape.p); !why.empty())
    return Unexpected{std::move(why)};
  ShapePlan plan;
  for (std::uint64_t group = 0; group < shape.groups(); ++group) {
    for (std::uint32_t i = 0; i < shape.a; ++i)
      plan.add_switch("switch-" + std::to_string(group) + "-" + std::to_string(i));
  }
  for (std::uint64_t at = 0; at < switches; ++at) plan.add_hosts(at, shape.p);
  for (std::uint64_t group = 0; group < shape.groups(); ++group) draw_group(plan, shape, group);
  for (std::uint64_t group = 0; group < shape.groups(); ++group) draw_global_cables(plan, shape, group);
  return plan;
}

Drawing draw_star(const ShapeArguments& arguments) {
  ShapePlan plan;
  plan.add_hosts(plan.add_switch("switch1"), arguments["hosts"]);
  return plan;
}

Drawing draw_pair(const ShapeArguments& arguments) {
  if (arguments.ports()) return Unexpected{std::string("ports= goes with switches; there is none")};
  ShapePlan plan;
  const std::size_t first = plan.add_host();
  plan.cable(first, plan.add_host());
  return plan;
}

}  // namespace softrnic::fabric
