#include "fabric/torus_2qos_writer.h"

#include <gtest/gtest.h>

#include "fabric/hex.h"

namespace softrnic::fabric {
namespace {

/// The file with names of switches in place of their GUIDs; empty: there is none.
std::string file_of(std::string_view specification) {
  const Topology topology = make_topology(specification).value();
  const auto grid = grid_of(specification);
  const auto written = grid ? write_torus_2qos(*grid, topology) : std::nullopt;
  if (!written) return "";
  std::string text = *written;
  for (const Node& node : topology.nodes()) {
    const std::string guid = "0x" + hex16(node.guid.value);
    for (std::size_t at = 0; (at = text.find(guid, at)) != std::string::npos;)
      text.replace(at, guid.size(), node.name);
  }
  return text;
}

// torus-2QoS.conf(5): a size of 1 is a dimension that is not there, and "p" and "m" are the two ways along one.
TEST(Torus2Qos, NamesTheSwitchesAroundTheFirstOne) {
  EXPECT_EQ(file_of("torus:3x4"),
            "torus 3 4 1\n"
            "xp_link switch-0-0 switch-1-0\nxm_link switch-0-0 switch-2-0\n"
            "yp_link switch-0-0 switch-0-1\nym_link switch-0-0 switch-0-3\n");
  EXPECT_EQ(file_of("torus:3x3x5,hosts=2"),
            "torus 3 3 5\n"
            "xp_link switch-0-0-0 switch-1-0-0\nxm_link switch-0-0-0 switch-2-0-0\n"
            "yp_link switch-0-0-0 switch-0-1-0\nym_link switch-0-0-0 switch-0-2-0\n"
            "zp_link switch-0-0-0 switch-0-0-1\nzm_link switch-0-0-0 switch-0-0-4\n");
}

TEST(Torus2Qos, RowsThatAreNoRingsHaveOneWay) {
  EXPECT_EQ(file_of("mesh:3x4"),
            "mesh 3 4 1\nxp_link switch-0-0 switch-1-0\nyp_link switch-0-0 switch-0-1\n");
  EXPECT_EQ(file_of("torus:2x5"),
            "torus 2 5 1\nxp_link switch-0-0 switch-1-0\n"
            "yp_link switch-0-0 switch-0-1\nym_link switch-0-0 switch-0-4\n");
}

TEST(Torus2Qos, IsForGridsOfThreeDimensionsAtMost) {
  EXPECT_EQ(file_of("torus:2x2x2x2"), "");
  for (const char* const other : {"", "ring:6", "fat-tree:k=4", "star:3"})
    EXPECT_EQ(file_of(other), "") << other;
  EXPECT_FALSE(grid_of("torus:none"));
  EXPECT_FALSE(grid_of("cube:3"));
}

}  // namespace
}  // namespace softrnic::fabric
