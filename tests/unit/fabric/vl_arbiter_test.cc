#include "fabric/vl_arbiter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace softrnic::fabric {
namespace {

constexpr VlMask kAll = 0x7fff;

VlArbiter arbiter(std::vector<VlWeight> high, std::vector<VlWeight> low, std::uint8_t limit) {
  VlArbiter made;
  made.set_high(high);
  made.set_low(low);
  made.set_high_limit(limit);
  return made;
}

/// The VLs of the next packets, each of so many blocks, as hexadecimal digits.
std::string row(VlArbiter& arbiter, VlMask ready, std::uint16_t blocks, int packets) {
  std::string vls;
  for (int i = 0; i < packets; ++i) {
    const auto vl = arbiter.choose(ready);
    vls += vl ? "0123456789abcdef"[*vl] : '-';
    if (vl) arbiter.sent(blocks);
  }
  return vls;
}

std::vector<double> shares(VlArbiter& arbiter, std::vector<std::uint16_t> blocks, int packets) {
  std::vector<double> sent(blocks.size());
  VlMask ready = 0;
  for (std::size_t vl = 0; vl < blocks.size(); ++vl) ready |= vl_bit(static_cast<unsigned>(vl));
  for (int i = 0; i < packets; ++i) {
    const auto vl = arbiter.choose(ready);
    arbiter.sent(blocks[*vl]);
    sent[*vl] += blocks[*vl];
  }
  return sent;
}

TEST(VlArbiter, SendsNothingWhereNothingIsReady) {
  VlArbiter arbiter;
  EXPECT_FALSE(arbiter.choose(0).has_value());
}

TEST(VlArbiter, IsEqualToAllUntilItIsSet) {
  VlArbiter arbiter;
  EXPECT_EQ(row(arbiter, kAll, 64, 17), "0123456789abcde01");
}

TEST(VlArbiter, PutsManagementFirst) {
  VlArbiter unset;
  EXPECT_EQ(row(unset, 0xffff, 5, 3), "fff");
  VlArbiter set = arbiter({{0, 255}}, {{1, 1}}, VlArbiter::kUnlimited);
  EXPECT_EQ(row(set, 0xffff, 5, 2), "ff");
}

TEST(VlArbiter, TakesWeightsInBlocks) {
  VlArbiter low = arbiter({}, {{0, 3}, {1, 1}, {2, 2}}, 0);
  EXPECT_EQ(row(low, kAll, 1, 12), "000122000122");
}

// A packet goes whole as long as anything is left of its weight.
TEST(VlArbiter, LetsTheLastPacketExceedTheWeight) {
  VlArbiter low = arbiter({}, {{0, 3}, {1, 1}}, 0);
  EXPECT_EQ(row(low, kAll, 2, 6), "001001");
  VlArbiter tiny = arbiter({}, {{0, 1}, {1, 1}}, 0);
  EXPECT_EQ(row(tiny, kAll, 65, 4), "0101");
}

TEST(VlArbiter, SkipsEntriesWithoutWeightOrPackets) {
  VlArbiter low = arbiter({}, {{0, 0}, {1, 2}, {15, 9}, {2, 1}}, 0);
  EXPECT_EQ(row(low, kAll, 1, 6), "112112");
  EXPECT_EQ(row(low, vl_bit(2), 1, 3), "222");
  EXPECT_EQ(row(low, vl_bit(0), 1, 2), "--");
}

TEST(VlArbiter, LetsAVlHaveSeveralEntries) {
  VlArbiter low = arbiter({}, {{0, 1}, {1, 1}, {0, 1}, {2, 1}}, 0);
  EXPECT_EQ(row(low, kAll, 1, 8), "01020102");
}

TEST(VlArbiter, LosesTheRestOfAnEntryThatHasNothingToSend) {
  VlArbiter low = arbiter({}, {{0, 4}, {1, 2}}, 0);
  EXPECT_EQ(row(low, kAll, 1, 1), "0");
  EXPECT_EQ(row(low, vl_bit(1), 1, 1), "1");
  EXPECT_EQ(row(low, kAll, 1, 6), "100001");
}

TEST(VlArbiter, LimitOf0IsOnePacket) {
  VlArbiter both = arbiter({{0, 255}}, {{1, 1}}, 0);
  EXPECT_EQ(row(both, kAll, 3, 6), "010101");
}

TEST(VlArbiter, LimitCounts4096Bytes) {
  VlArbiter both = arbiter({{0, 255}}, {{1, 1}}, 1);
  EXPECT_EQ(row(both, kAll, 16, 10), "0000100001");
  EXPECT_EQ(row(both, vl_bit(0), 16, 9), "000000000");  // none waits in the low table
}

TEST(VlArbiter, LimitOf255StarvesTheLowTable) {
  VlArbiter both = arbiter({{0, 1}}, {{1, 255}}, VlArbiter::kUnlimited);
  EXPECT_EQ(row(both, kAll, 66, 8), "00000000");
  EXPECT_EQ(row(both, vl_bit(1), 66, 2), "11");
}

TEST(VlArbiter, SharesByWeightWithinAPercent) {
  for (const auto blocks : std::initializer_list<std::uint16_t>{1, 5, 17, 33, 65}) {
    VlArbiter low = arbiter({}, {{0, 192}, {1, 64}}, 0);
    const std::vector<double> sent = shares(low, {blocks, blocks}, 40'000);
    EXPECT_NEAR(sent[0] / sent[1], 3, 0.03) << blocks;
  }
}

TEST(VlArbiter, SharesByBytesWhereSizesDiffer) {
  VlArbiter low = arbiter({}, {{0, 192}, {1, 64}}, 0);
  const std::vector<double> sent = shares(low, {2, 64}, 100'000);
  EXPECT_NEAR(sent[0] / sent[1], 3, 0.03);
}

// The low table has one packet after 128 blocks of the high one, and its rounds are of 257 packets.
TEST(VlArbiter, StarvesNobodyWithALimit) {
  VlArbiter both = arbiter({{0, 255}, {1, 255}}, {{2, 1}, {3, 255}, {4, 1}}, 2);
  std::vector<int> waited(5);
  for (int i = 0; i < 200'000; ++i) {
    const auto vl = both.choose(0x1f);
    both.sent(1);
    for (int& turns : waited) ++turns;
    waited[*vl] = 0;
    ASSERT_LE(*std::max_element(waited.begin(), waited.end()), 129 * 257) << i;
  }
}

TEST(VlArbiter, TakesNoMoreEntriesThanThereAre) {
  const std::vector<VlWeight> many(200, VlWeight{3, 1});
  VlArbiter low = arbiter({}, many, 0);
  EXPECT_EQ(row(low, kAll, 1, 3), "333");
}

}  // namespace
}  // namespace softrnic::fabric
