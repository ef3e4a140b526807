#include "link/stream_faults.h"

#include <gtest/gtest.h>

#include <array>
#include <numeric>
#include <vector>

namespace softrnic::link {
namespace {

using Fate = StreamFaults::Fate;

struct Write {
  std::vector<std::byte> first = std::vector<std::byte>(700), second = std::vector<std::byte>(5000);
  std::array<Bytes, 2> gathered{first, second};
  std::span<Bytes> pieces{gathered};

  std::size_t bytes() const {
    return std::accumulate(pieces.begin(), pieces.end(), std::size_t{0},
                           [](std::size_t sum, Bytes piece) { return sum + piece.size(); });
  }
  int bits_set() const {
    int bits = 0;
    for (const Bytes piece : pieces)
      for (const std::byte each : piece) bits += __builtin_popcount(std::to_integer<unsigned>(each));
    return bits;
  }
};

TEST(StreamFaults, NothingHappensByItself) {
  StreamFaults faults(FaultPlan{});
  Write write;
  EXPECT_EQ(faults.befall(write.pieces), Fate::passes);
  EXPECT_EQ(write.bytes(), 5700U);
  EXPECT_EQ(write.bits_set(), 0);
}

TEST(StreamFaults, EachDoesWhatItSays) {
  FaultPlan cut, stall, corrupt, split;
  cut.cut = stall.stall = corrupt.corrupt = split.split = 1;
  Write write;
  EXPECT_EQ(StreamFaults(cut).befall(write.pieces), Fate::cut);
  EXPECT_EQ(StreamFaults(stall).befall(write.pieces), Fate::stalls);
  StreamFaults corrupts(corrupt);
  for (int i = 0; i < 50; ++i) {
    Write damaged;
    EXPECT_EQ(corrupts.befall(damaged.pieces), Fate::passes);
    EXPECT_EQ(damaged.bits_set(), 1);
    EXPECT_EQ(damaged.bytes(), 5700U);
  }
  StreamFaults splits(split);
  for (int i = 0; i < 50; ++i) {
    Write part;
    EXPECT_EQ(splits.befall(part.pieces), Fate::passes);
    EXPECT_GE(part.bytes(), 1U);
    EXPECT_LE(part.bytes(), StreamFaults::kLongestSplit);
  }
}

TEST(StreamFaults, TheSameSeedGivesTheSameFaults) {
  FaultPlan plan;
  plan.cut = plan.stall = 0.2;
  plan.seed = 7;
  StreamFaults one(plan), other(plan);
  plan.seed = 8;
  StreamFaults third(plan);
  int different = 0;
  for (int i = 0; i < 200; ++i) {
    Write write;
    const Fate fate = one.befall(write.pieces);
    EXPECT_EQ(other.befall(write.pieces), fate);
    different += third.befall(write.pieces) != fate ? 1 : 0;
  }
  EXPECT_GT(different, 0);
}

TEST(FaultPlan, KnowsTheFaultsOfStreams) {
  const auto plan = parse_fault_plan("cut=1%,stall=2%,split=0.5,seed=3");
  ASSERT_TRUE(plan);
  EXPECT_DOUBLE_EQ(plan->cut, 0.01);
  EXPECT_DOUBLE_EQ(plan->stall, 0.02);
  EXPECT_DOUBLE_EQ(plan->split, 0.5);
  EXPECT_TRUE(plan->any_of_streams());
  EXPECT_FALSE(parse_fault_plan("cut=2"));
}

}  // namespace
}  // namespace softrnic::link
