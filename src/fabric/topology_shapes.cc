#include "fabric/topology_shapes.h"

#include <algorithm>
#include <array>

#include "fabric/shape_drawings.h"
#include "fabric/text_error.h"

namespace softrnic::fabric {
namespace {

// Bounds only keep numbers small enough to multiply; what a switch and a subnet can have is checked where
// it is known.
constexpr std::uint32_t kPorts = Topology::kMaxNodePorts;
constexpr std::uint32_t kMany = Topology::kMaxLids;

constexpr std::array kFatTreeParameters = {
    ShapeParameter{"size", 0, 2, kPorts* kPorts / 2,
                   "hosts of a two-level tree, full, of switches with 2·√(size/2) ports"},
    ShapeParameter{"k", 0, 2, kPorts, "ports of each switch of a three-level tree"},
    ShapeParameter{"leaves", 2, 1, kPorts, "leaf switches of a two-level tree"},
    ShapeParameter{"spines", 1, 1, kPorts, "spine switches of a two-level tree"},
    ShapeParameter{"hosts", 0, 1, kPorts, "hosts at each leaf switch"},
    ShapeParameter{"links", 1, 1, kPorts, "cables between each leaf and each spine switch"},
};
constexpr std::array kRingParameters = {
    ShapeParameter{"switches", 6, 3, kMany, "switches of the ring"},
    ShapeParameter{"hosts", 1, 1, kPorts, "hosts at each switch"},
};
constexpr std::array kGridParameters = {ShapeParameter{"hosts", 1, 1, kPorts, "hosts at each switch"}};
constexpr std::array kDragonflyParameters = {
    ShapeParameter{"a", 4, 1, kPorts, "switches of a group"},
    ShapeParameter{"p", 2, 1, kPorts, "hosts at each switch"},
    ShapeParameter{"h", 2, 1, kPorts, "cables of each switch to other groups"},
};
constexpr std::array kStarParameters = {ShapeParameter{"hosts", 8, 1, kPorts, "hosts at the switch"}};

constexpr std::array kShapes = {
    Shape{
        "fat-tree",
        "fat-tree:k=K[,hosts=N], fat-tree:SIZE[,hosts=N] or fat-tree:leaves=L,spines=S,hosts=N[,links=N]",
        "k=: three levels of switches with K ports, full: K³/4 hosts. SIZE: two levels, full, such as 648 of "
        "switches with 36 ports. leaves=: two levels, each leaf joined to each spine",
        kDefaultShape,
        {"size"},
        kFatTreeParameters,
        draw_fat_tree},
    Shape{"ring",
          "ring:SWITCHES[,hosts=N]",
          "switches in a circle, each with N hosts",
          "ring:6,hosts=1",
          {"switches"},
          kRingParameters,
          draw_ring},
    Shape{"torus",
          "torus:XxY[xZ…][,hosts=N]",
          "a grid of switches whose rows end where they begin, each with N hosts; a row of 2 has one cable",
          "torus:4x4,hosts=1",
          {"dimensions", true},
          kGridParameters,
          draw_torus},
    Shape{"mesh",
          "mesh:XxY[xZ…][,hosts=N]",
          "a grid of switches, each with N hosts; 2x2x2 is a cube",
          "mesh:4x4,hosts=1",
          {"dimensions", true},
          kGridParameters,
          draw_mesh},
    Shape{"dragonfly",
          "dragonfly:a=A,p=P,h=H",
          "A·H+1 groups of A switches with P hosts each; all switches of a group are joined, and all groups, "
          "by one cable for each two",
          "dragonfly:a=4,p=2,h=2",
          {},
          kDragonflyParameters,
          draw_dragonfly},
    Shape{"star", "star:HOSTS", "one switch and its hosts", "star:8", {"hosts"}, kStarParameters, draw_star},
    Shape{"pair", "pair", "two hosts back to back, without a switch", "pair", {}, {}, draw_pair},
};

constexpr std::array kCommonOptions = {
    ShapeOption{"width=WIDTH", "lanes of each link: 1x, 2x, 4x, 8x or 12x; 4x unless given"},
    ShapeOption{"speed=SPEED",
                "speed of each lane: SDR, DDR, QDR, FDR10, FDR, EDR, HDR or NDR; EDR unless given"},
    ShapeOption{"ports=N", "ports of each switch; unless given, as many as the busiest switch needs"},
};

/// "ring" and "6,hosts=2", from "ring:6,hosts=2".
struct Words {
  std::string_view name, items;
};

Words words_of(std::string_view specification) {
  if (specification.empty()) specification = kDefaultShape;
  const std::size_t end = specification.find_first_of(":,");
  const bool is_alone = end == std::string_view::npos;
  return {specification.substr(0, end), is_alone ? "" : specification.substr(end + 1)};
}

const Shape* find_shape(std::string_view name) {
  const auto* const found = std::ranges::find(kShapes, name, &Shape::name);
  return found != kShapes.end() ? found : nullptr;
}

Expected<ShapeArguments, std::string> parse(const Shape& shape, std::string_view items) {
  return ShapeArguments::parse(items, shape.name, shape.parameters, shape.positional);
}

Expected<Topology, std::string> make(const Shape& shape, std::string_view items) {
  const auto arguments = parse(shape, items);
  if (!arguments) return Unexpected{std::string(shape.name) + ": " + arguments.error()};
  const auto plan = shape.draw(*arguments);
  if (!plan) return Unexpected{std::string(shape.name) + ": " + plan.error()};
  auto topology = plan->build(arguments->ports(), arguments->rate());
  if (!topology) return Unexpected{std::string(shape.name) + ": " + topology.error()};
  return topology;
}

}  // namespace

std::span<const Shape> topology_shapes() { return kShapes; }
std::span<const ShapeOption> common_shape_options() { return kCommonOptions; }

Expected<Topology, std::string> make_topology(std::string_view specification) {
  const Words words = words_of(specification);
  if (const Shape* const shape = find_shape(words.name)) return make(*shape, words.items);
  std::string names;
  for (const Shape& shape : kShapes) names += (names.empty() ? "" : ", ") + std::string(shape.name);
  return Unexpected{quoted(words.name) + " is no shape of a fabric; there are " + names};
}

NodeIndex Grid::switch_at(std::size_t dimension, std::uint32_t steps) const {
  std::uint32_t stride = 1;
  for (std::size_t before = 0; before < dimension; ++before) stride *= dimensions[before];
  return NodeIndex(steps * stride);
}

std::optional<Grid> grid_of(std::string_view specification) {
  const Words words = words_of(specification);
  const Shape* const shape = find_shape(words.name);
  if (shape == nullptr || (shape->draw != draw_torus && shape->draw != draw_mesh)) return std::nullopt;
  const auto arguments = parse(*shape, words.items);
  if (!arguments) return std::nullopt;
  return Grid{grid_dimensions(*arguments), shape->draw == draw_torus};
}

}  // namespace softrnic::fabric
