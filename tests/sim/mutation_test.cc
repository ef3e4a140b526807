// The simulator's own test: a bug planted on purpose must be found within a few hundred seeds.
#include <gtest/gtest.h>

#include "tests/sim/world.h"

namespace softrnic::sim {
namespace {

class PlantedBug : public testing::TestWithParam<Mutation> {};

TEST_P(PlantedBug, IsFound) {
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    if (!run_seed(seed, GetParam()).failure.empty()) return;
  }
  FAIL() << "400 seeds do not find " << name(GetParam());
}

std::vector<Mutation> all_mutations() {
  std::vector<Mutation> all;
  for (int i = 1; i < static_cast<int>(Mutation::count_); ++i) all.push_back(static_cast<Mutation>(i));
  return all;
}

INSTANTIATE_TEST_SUITE_P(Every, PlantedBug, testing::ValuesIn(all_mutations()),
                         [](const auto& param) { return std::string(name(param.param)); });

}  // namespace
}  // namespace softrnic::sim
