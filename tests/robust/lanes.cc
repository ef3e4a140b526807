// Test programs with this file have four lanes in each process. Before main(), as settings are read once.
#include <gtest/gtest.h>

#include <cstdlib>

namespace {

class FourLanes : public testing::Environment {
 public:
  void SetUp() override { setenv("SOFTRNIC_LANES", "4", 1); }
};

const auto* const kFourLanes = testing::AddGlobalTestEnvironment(new FourLanes);

}  // namespace
