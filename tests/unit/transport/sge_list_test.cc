#include "transport/ib/sge_list.h"

#include <gtest/gtest.h>

#include <array>

#include "base/reason_id.h"
#include "tests/script/fake_host.h"

namespace softrnic::ib {
namespace {

class SgeList : public ::testing::Test {
 protected:
  SgeList() {
    for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<std::byte>(i);
    host.regions[1] = {0x1000, memory.data(), memory.size(), kLocalWrite};
    host.regions[2] = {0x1000, memory.data(), memory.size(), 0};
  }
  std::array<std::byte, 256> memory{};
  test::FakeHost host;
  TxPacket packet;
  SgeCursor cursor;
  const Sge sges[4] = {{0x1000, 10, MemoryKey(1)},
                       {0, 0, MemoryKey(99)},
                       {0x1020, 5, MemoryKey(1)},
                       {0x1040, 100, MemoryKey(2)}};
};

TEST_F(SgeList, GathersAcrossElementsAndSkipsEmptyOnesUnchecked) {
  ASSERT_TRUE(gather(host, sges, cursor, 8, 10, packet));
  ASSERT_EQ(packet.fragment_count, 3U);
  EXPECT_EQ(packet.fragments[0].data, &memory[8]);
  EXPECT_EQ(packet.fragments[0].size, 2U);
  EXPECT_EQ(packet.fragments[1].data, &memory[0x20]);
  EXPECT_EQ(packet.fragments[1].size, 5U);
  EXPECT_EQ(packet.fragments[2].size, 3U);
  EXPECT_EQ(packet.payload_bytes, 10U);
}

TEST_F(SgeList, TheCursorGoesOnAndBack) {
  ASSERT_TRUE(gather(host, sges, cursor, 16, 4, packet));
  EXPECT_EQ(cursor.index, 3U);
  packet.fragment_count = 0;
  ASSERT_TRUE(gather(host, sges, cursor, 20, 4, packet));
  EXPECT_EQ(packet.fragments[0].data, &memory[0x45]);
  packet.fragment_count = 0;
  ASSERT_TRUE(gather(host, sges, cursor, 3, 1, packet));
  EXPECT_EQ(packet.fragments[0].data, &memory[3]);
}

TEST_F(SgeList, NothingIsGatheredForNothing) {
  ASSERT_TRUE(gather(host, {}, cursor, 0, 0, packet));
  EXPECT_EQ(packet.fragment_count, 0U);
}

TEST_F(SgeList, TheKeysAreAskedEachTime) {
  host.regions.erase(1);
  auto done = gather(host, sges, cursor, 0, 4, packet);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().id, ReasonId::lkey_unknown);
}

TEST_F(SgeList, AnElementThatLeavesItsRegionFailsAtItsFirstByte) {
  const Sge outside[] = {{0x10f0, 17, MemoryKey(1)}};
  EXPECT_FALSE(gather(host, outside, cursor, 0, 1, packet));
}

TEST_F(SgeList, ALongerMessageThanTheListFails) {
  auto done = gather(host, sges, cursor, 100, 16, packet);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().id, ReasonId::local_length);
}

TEST_F(SgeList, ScattersAndNeedsTheRightToWrite) {
  std::array<std::byte, 7> payload;
  payload.fill(std::byte{0xaa});
  ASSERT_TRUE(scatter(host, LocalUse::response, sges, cursor, 8, {payload, nullptr, payload.size()}));
  EXPECT_EQ(memory[7], std::byte{7});
  EXPECT_EQ(memory[8], std::byte{0xaa});
  EXPECT_EQ(memory[9], std::byte{0xaa});
  EXPECT_EQ(memory[10], std::byte{10});
  EXPECT_EQ(memory[0x24], std::byte{0xaa});
  EXPECT_EQ(memory[0x25], std::byte{0x25});
  EXPECT_FALSE(scatter(host, LocalUse::response, sges, cursor, 15, {payload, nullptr, payload.size()}));
}

TEST_F(SgeList, OfAReceiveOnlyWhatIsScatteredHasToLieInItsRegion) {
  const Sge sticking_out[] = {{0x10fc, 10, MemoryKey(1)}};
  std::array<std::byte, 4> payload;
  payload.fill(std::byte{0xaa});
  const Payload four{payload, nullptr, 4}, three{Bytes(payload).first(3), nullptr, 3};
  EXPECT_FALSE(scatter(host, LocalUse::response, sticking_out, cursor, 0, four)) << "it would go on";
  ASSERT_TRUE(scatter(host, LocalUse::receive, sticking_out, cursor, 0, three));
  EXPECT_EQ(memory[0xfe], std::byte{0xaa});
  EXPECT_EQ(memory[0xff], std::byte{0xff});
  EXPECT_FALSE(scatter(host, LocalUse::receive, sticking_out, cursor, 3, three)) << "two bytes too many";
}

TEST_F(SgeList, FragmentsAreLimited) {
  std::vector<Sge> many(40, Sge{0x1000, 1, MemoryKey(1)});
  EXPECT_TRUE(gather(host, many, cursor, 0, TxPacket::kMaxFragments, packet));
  packet.fragment_count = 0;
  EXPECT_FALSE(gather(host, many, cursor, 0, TxPacket::kMaxFragments + 1, packet));
}

}  // namespace
}  // namespace softrnic::ib
