// How much work it is to read a fabric, in steps and not in time: a busy machine changes no count.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "fabric/ibnetdiscover_format.h"
#include "fabric/ibsim_format.h"
#include "fabric/topology_file.h"
#include "fabric/topology_shapes.h"

namespace {
std::uint64_t steps = 0;
}

// What the compiler has every basic block of those call; see CMakeLists.txt.
extern "C" void __sanitizer_cov_trace_pc();
extern "C" void __sanitizer_cov_trace_pc() { ++steps; }

namespace softrnic::fabric {
namespace {

std::uint64_t steps_to_read(const std::string& text) {
  const std::uint64_t before = steps;
  const auto topology = read_topology(text);
  EXPECT_TRUE(topology.has_value()) << to_string(topology.error());
  return steps - before;
}

std::string discovered(const Topology& topology) {
  return write_ibnetdiscover(topology, {}, {*topology.find("host1"), 1}, "now");
}

// Of eight times as many ports; a scan of all nodes for each port would take 64 times as many steps.
TEST(TopologyFile, TakesStepsInProportionToItsPorts) {
  const Topology small = *make_topology("fat-tree:k=12"), large = *make_topology("fat-tree:k=24");
  ASSERT_EQ(large.port_count(), 8 * small.port_count());
  for (const auto& write : {write_ibsim, discovered}) {
    const std::uint64_t few = steps_to_read(write(small)), many = steps_to_read(write(large));
    EXPECT_GT(few, 10 * small.port_count()) << "each line takes some";
    EXPECT_LT(many, 10 * few);
  }
}

}  // namespace
}  // namespace softrnic::fabric
