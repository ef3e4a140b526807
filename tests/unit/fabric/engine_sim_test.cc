// The engine under random fabrics and traffic: what has to hold holds for every seed.
#include <gtest/gtest.h>

#include <cstdlib>

#include "fabric/deadlock.h"
#include "tests/unit/fabric/fabric_world.h"

namespace softrnic::fabric {
namespace {

std::uint64_t seeds_to_run(std::uint64_t otherwise) {
  const char* text = std::getenv("SOFTRNIC_SIM_SEEDS");
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 0);
}

WorldTally run_seeds(std::uint64_t seeds, const WorldOptions& options) {
  WorldTally sum;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    FabricWorld world(seed, options);
    world.run();
    EXPECT_EQ(world.failure(), "") << "seed " << seed;
    if (!world.failure().empty()) break;
    sum.sent += world.tally().sent;
    sum.delivered += world.tally().delivered;
    sum.refused += world.tally().refused;
    sum.held += world.tally().held;
    sum.discarded += world.tally().discarded;
    sum.damaged += world.tally().damaged;
    sum.cut += world.tally().cut;
  }
  return sum;
}

// No loss, no second delivery, no reordering in a service level, no credit that is lost, no buffer above its
// size; and the bytes are those that were sent.
TEST(FabricSimulation, LosesNothingWithoutFaults) {
  const WorldTally sum = run_seeds(seeds_to_run(1000), {});
  EXPECT_EQ(sum.delivered, sum.sent);
  EXPECT_GT(sum.delivered, 1000U);
  EXPECT_GT(sum.refused, 100U);
  EXPECT_GT(sum.held, 100U);
}

TEST(FabricSimulation, RecoversFromEveryFault) {
  const WorldTally sum = run_seeds(seeds_to_run(500), {.faults = true});
  EXPECT_LT(sum.delivered, sum.sent);
  EXPECT_GT(sum.delivered, sum.sent / 2);
  EXPECT_GT(sum.damaged, 100U);
  EXPECT_GT(sum.cut, 10U);
}

TEST(FabricSimulation, LifetimesLoseWhatTheyCount) {
  const WorldTally sum = run_seeds(seeds_to_run(300), {.lifetimes = true});
  EXPECT_EQ(sum.delivered + sum.discarded, sum.sent);
  EXPECT_GT(sum.discarded, 10U);
}

// In a ring whose packets all go clockwise past all others, buffers wait for each other in a circle.
// Lifetimes end it.
TEST(FabricSimulation, ABadRoutingDeadlocksAndIsFound) {
  std::uint64_t deadlocks = 0;
  for (std::uint64_t seed = 1; seed <= seeds_to_run(100); ++seed) {
    FabricWorld world(seed, {.bad_routing = true, .packets = 400});
    world.run();
    ASSERT_EQ(world.failure(), "") << seed;
    const std::vector<CreditWait> cycle = find_credit_cycle(world.engine());
    if (cycle.empty()) continue;
    ++deadlocks;
    ASSERT_EQ(cycle.size(), world.switches()) << seed << ": " << to_string(cycle);
    for (const CreditWait& wait : cycle) {
      EXPECT_EQ(wait.input_port, 2);
      EXPECT_EQ(wait.output_port, 1);
    }
    const std::uint64_t waiting = world.waiting();
    world.wait(Duration(1'000'000'000));
    ASSERT_EQ(world.waiting(), waiting) << seed;
    world.set_lifetimes(4);
    world.wait(Duration(1'000'000'000));
    EXPECT_TRUE(find_credit_cycle(world.engine()).empty()) << seed;
    EXPECT_EQ(world.waiting(), 0U) << seed;
  }
  EXPECT_GT(2 * deadlocks, seeds_to_run(100));
}

TEST(FabricSimulation, IsReproducible) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    FabricWorld one(seed, {.faults = true});
    FabricWorld two(seed, {.faults = true});
    one.run();
    two.run();
    EXPECT_EQ(one.tally().delivered, two.tally().delivered) << seed;
    EXPECT_EQ(one.tally().damaged, two.tally().damaged) << seed;
  }
}

}  // namespace
}  // namespace softrnic::fabric
