#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/sim/cm/world.h"

namespace softrnic::sim::cm_world {
namespace {

std::uint64_t seeds_to_run(std::uint64_t otherwise) {
  const char* text = std::getenv("SOFTRNIC_SIM_SEEDS");
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 0);
}

TEST(CmSimulation, HoldsItsPromisesUnderEveryFault) {
  Tally sum;
  for (std::uint64_t seed = 1; seed <= seeds_to_run(2000); ++seed) {
    const Outcome outcome = run_seed(seed);
    ASSERT_EQ(outcome.failure, "") << "seed " << seed << "\n" << outcome.trace;
    sum.established += outcome.tally.established;
    sum.rejected += outcome.tally.rejected;
    sum.unreachable += outcome.tally.unreachable;
    sum.disconnected += outcome.tally.disconnected;
    sum.resolved += outcome.tally.resolved;
    sum.killed += outcome.tally.killed;
    sum.crashed += outcome.tally.crashed;
    sum.attacked += outcome.tally.attacked;
    sum.injected += outcome.tally.injected;
  }
  // A simulation in which nothing happens finds nothing.
  EXPECT_GT(sum.established, 100U);
  EXPECT_GT(sum.rejected, 100U);
  EXPECT_GT(sum.unreachable, 10U);
  EXPECT_GT(sum.disconnected, 100U);
  EXPECT_GT(sum.resolved, 100U);
  EXPECT_GT(sum.killed, 10U);
  EXPECT_GT(sum.crashed, 10U);
  EXPECT_GT(sum.attacked, 100U);
  EXPECT_GT(sum.injected, 1000U);
}

TEST(CmSimulation, IsReproducible) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    EXPECT_EQ(run_seed(seed).tally.datagrams, run_seed(seed).tally.datagrams) << seed;
  }
}

TEST(CmSimulation, FindsEveryPlantedFault) {
  for (const Mutant mutant : kMutants) {
    std::uint64_t seed = 1;
    while (seed <= 300 && run_seed(seed, mutant).failure.empty()) ++seed;
    EXPECT_LE(seed, 300U) << "mutant " << static_cast<int>(mutant);
  }
}

}  // namespace
}  // namespace softrnic::sim::cm_world
