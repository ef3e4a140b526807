// The matching list by itself, and beside a model.
#include "rnic/tag_matching.h"

#include <gtest/gtest.h>
#include <infiniband/tm_types.h>

#include <cerrno>
#include <cstring>
#include <random>

#include "tests/support/tag_course.h"

namespace softrnic::rnic::test {
namespace {

using Kind = TagMessage::Kind;

class TagMatchingTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(tags.allocate({4, 100})); }

  std::uint32_t add(std::uint64_t id, std::uint64_t tag, std::uint64_t mask = UINT64_MAX, int flags = 0,
                    std::uint32_t count = 0) {
    ibv_ops_wr wr{};
    wr.opcode = IBV_WR_TAG_ADD;
    wr.flags = flags;
    wr.tm.unexpected_cnt = count;
    wr.tm.add = {.recv_wr_id = id, .sg_list = nullptr, .num_sge = 0, .tag = tag, .mask = mask};
    const auto done = tags.execute(wr);
    EXPECT_TRUE(done);
    last = done ? *done : ibv_wc{};
    return wr.tm.handle;
  }
  ibv_wc run(ibv_ops_wr_opcode opcode, std::uint32_t argument) {
    ibv_ops_wr wr{};
    wr.wr_id = 9;
    wr.opcode = opcode;
    wr.tm.unexpected_cnt = wr.tm.handle = argument;
    const auto done = tags.execute(wr);
    EXPECT_TRUE(done);
    return done ? *done : ibv_wc{};
  }
  int error_of(ibv_ops_wr wr) {
    const auto done = tags.execute(wr);
    return done ? 0 : done.error().error;
  }
  static TagMessage eager(std::uint64_t tag) {
    TagMessage message;
    message.kind = Kind::eager;
    message.tag = tag;
    return message;
  }
  /// What a message has taken; nullptr: it is unexpected.
  TagEntry* come(std::uint64_t tag) {
    const TagMatch match = tags.match(eager(tag), true);
    tags.begin(match);
    return match.entry;
  }

  TagMatching tags;
  ibv_wc last{};
};

TEST_F(TagMatchingTest, TheFirstThatMatchesIsTaken) {
  add(1, 5);
  add(2, 0, 0);  // any
  add(3, 5);
  EXPECT_EQ(come(5)->buffer.wr_id, 1U);
  EXPECT_EQ(come(5)->buffer.wr_id, 2U) << "the wildcard stands before";
  EXPECT_EQ(come(6), nullptr);
  EXPECT_EQ(come(5)->buffer.wr_id, 3U);
}

TEST_F(TagMatchingTest, ATagBeyondItsMaskMatchesNothing) {
  add(1, 0x15, 0xf);
  EXPECT_EQ(come(0x15), nullptr) << "TMH.tag & mask == tag";
}

TEST_F(TagMatchingTest, APlaceIsFilledUntilItsMessageHasEnded) {
  for (std::uint64_t id = 1; id <= 4; ++id) add(id, 5);
  ibv_ops_wr more{};
  more.opcode = IBV_WR_TAG_ADD;
  EXPECT_EQ(error_of(more), ENOMEM);
  TagEntry* const taken = come(5);
  EXPECT_EQ(error_of(more), ENOMEM);
  tags.release(*taken);
  EXPECT_EQ(error_of(more), 0);
}

TEST_F(TagMatchingTest, WhatIsTakenOrDeletedIsNotDeleted) {
  const std::uint32_t first = add(1, 5), second = add(2, 6);
  EXPECT_EQ(run(IBV_WR_TAG_DEL, first).status, IBV_WC_SUCCESS);
  const ibv_wc again = run(IBV_WR_TAG_DEL, first);
  EXPECT_EQ(again.status, IBV_WC_TM_ERR);
  EXPECT_EQ(again.opcode, IBV_WC_TM_DEL);
  EXPECT_EQ(again.wr_id, 9U);
  EXPECT_EQ(come(5), nullptr);
  tags.release(*come(6));
  EXPECT_EQ(run(IBV_WR_TAG_DEL, second).status, IBV_WC_TM_ERR);
  const std::uint32_t reused = add(3, 6);
  EXPECT_NE(reused, second);
  EXPECT_EQ(run(IBV_WR_TAG_DEL, second).status, IBV_WC_TM_ERR) << "it is another buffer now";
  EXPECT_EQ(run(IBV_WR_TAG_DEL, reused).status, IBV_WC_SUCCESS);
}

TEST_F(TagMatchingTest, NewBuffersWaitUntilUnexpectedMessagesAreDealtWith) {
  add(1, 1);
  EXPECT_EQ(last.wc_flags, 0U);
  EXPECT_EQ(come(5), nullptr);
  add(2, 5);
  EXPECT_EQ(last.wc_flags, unsigned{IBV_WC_TM_SYNC_REQ}) << "the message is on its way to the program";
  tags.unexpected_ended(true);
  EXPECT_EQ(come(5), nullptr);
  tags.unexpected_ended(true);
  EXPECT_EQ(come(1)->buffer.wr_id, 1U) << "it was there before";
  EXPECT_EQ(run(IBV_WR_TAG_SYNC, 1).wc_flags, unsigned{IBV_WC_TM_SYNC_REQ}) << "of two";
  EXPECT_EQ(tags.match(eager(5), true).entry, nullptr);
  EXPECT_EQ(run(IBV_WR_TAG_SYNC, 2).wc_flags, 0U);
  EXPECT_EQ(come(5)->buffer.wr_id, 2U);
}

TEST_F(TagMatchingTest, AnAddMaySynchronizeToo) {
  EXPECT_EQ(come(5), nullptr);
  tags.unexpected_ended(true);
  add(1, 5, UINT64_MAX, 0, 1);
  EXPECT_EQ(last.wc_flags, unsigned{IBV_WC_TM_SYNC_REQ}) << "without IBV_OPS_TM_SYNC the count says nothing";
  add(2, 6, UINT64_MAX, IBV_OPS_TM_SYNC, 1);
  EXPECT_EQ(last.wc_flags, 0U);
  EXPECT_EQ(come(5)->buffer.wr_id, 1U);
  EXPECT_EQ(come(6)->buffer.wr_id, 2U);
}

TEST_F(TagMatchingTest, AnUnexpectedMessageThatFailsIsCountedByNobody) {
  EXPECT_EQ(come(5), nullptr);
  add(1, 5);
  tags.unexpected_ended(false);
  EXPECT_EQ(come(5)->buffer.wr_id, 1U);
}

TEST_F(TagMatchingTest, CountsMayBeOf16Bits) {
  for (std::uint32_t i = 0; i < 0x10005; ++i) {
    ASSERT_EQ(come(5), nullptr);
    tags.unexpected_ended(true);
    if (i % 0x4000 == 0) run(IBV_WR_TAG_SYNC, i & 0xffff);
  }
  EXPECT_EQ(run(IBV_WR_TAG_SYNC, 0x10005).wc_flags, 0U);
  EXPECT_EQ(run(IBV_WR_TAG_SYNC, 5).wc_flags, 0U);
}

TEST_F(TagMatchingTest, AProgramThatIsFarBehindIsTold) {
  for (std::uint32_t i = 0; i < 0x3fff; ++i) {
    ASSERT_EQ(come(5), nullptr);
    tags.unexpected_ended(true);
  }
  EXPECT_FALSE(tags.urgent());
  come(5);
  tags.unexpected_ended(true);
  EXPECT_TRUE(tags.urgent());
}

TEST_F(TagMatchingTest, WhatIsNoOperationIsRefused) {
  ibv_ops_wr wr{};
  wr.opcode = static_cast<ibv_ops_wr_opcode>(IBV_WR_TAG_SYNC + 1);
  EXPECT_EQ(error_of(wr), EINVAL);
  wr.opcode = IBV_WR_TAG_SYNC;
  wr.flags = 1 << 5;
  EXPECT_EQ(error_of(wr), EINVAL);
  wr = {};
  wr.opcode = IBV_WR_TAG_DEL;
  wr.tm.handle = 4;
  EXPECT_EQ(error_of(wr), EINVAL) << "a handle of a place that is not there";
  wr = {};
  wr.opcode = IBV_WR_TAG_ADD;
  wr.tm.add.num_sge = limits::kMaxTagSges + 1;
  EXPECT_EQ(error_of(wr), EINVAL);
  wr.tm.add.num_sge = -1;
  EXPECT_EQ(error_of(wr), EINVAL);
  wr.tm.add.num_sge = 1;
  EXPECT_EQ(error_of(wr), EINVAL) << "of which there is no list";
}

TEST(TagCourse, GoesAsTheModelSays) {
  for (std::uint32_t seed = 1; seed <= 200; ++seed) {
    std::mt19937 random(seed);
    auto choose = [&](std::uint32_t below) { return static_cast<std::uint32_t>(random() % below); };
    softrnic::test::TagCourse course(1 + seed % 7, choose);
    for (int i = 0; i < 2000; ++i) {
      const char* const broken = course.step();
      ASSERT_EQ(broken, nullptr) << broken << ", seed " << seed << ", step " << i;
    }
  }
}

// ---- headers

class TagMessageTest : public ::testing::Test {
 protected:
  TagMessage parse(std::size_t size, bool whole = true) {
    std::array<std::byte, 128> bytes{};
    const ibv_tmh tmh{opcode, {}, __builtin_bswap32(0x01020304), __builtin_bswap64(0x1122334455667788)};
    const ibv_rvh rvh{__builtin_bswap64(0xa000), __builtin_bswap32(0xbeef), __builtin_bswap32(4096)};
    std::memcpy(bytes.data(), &tmh, sizeof tmh);
    std::memcpy(bytes.data() + sizeof tmh, &rvh, sizeof rvh);
    return TagMessage::parse({bytes.data(), std::min(size, TagMessage::kLookahead)}, size, whole);
  }
  std::uint8_t opcode = IBV_TMH_EAGER;
};

TEST_F(TagMessageTest, AnEagerMessageHasATag) {
  const TagMessage message = parse(16);
  EXPECT_EQ(message.kind, Kind::eager);
  EXPECT_EQ(message.tag, 0x1122334455667788U);
  EXPECT_EQ(message.app_ctx, 0x01020304U);
  EXPECT_TRUE(message.whole);
  EXPECT_FALSE(parse(1024, false).whole);
}

TEST_F(TagMessageTest, ACutHeaderIsNone) {
  for (const std::size_t size : {0, 1, 15}) EXPECT_EQ(parse(size).kind, Kind::untagged);
}

TEST_F(TagMessageTest, ARequestForRendezvousIsWholeAndHasItsHeaders) {
  opcode = IBV_TMH_RNDV;
  const TagMessage message = parse(64);
  EXPECT_EQ(message.kind, Kind::rendezvous);
  EXPECT_EQ(message.address, 0xa000U);
  EXPECT_EQ(message.rkey, MemoryKey(0xbeef));
  EXPECT_EQ(message.length, 4096U);
  const auto fin = fin_of(message);
  EXPECT_EQ(fin[0], std::byte{IBV_TMH_FIN});
  EXPECT_TRUE(std::equal(fin.begin() + 1, fin.end(), message.headers.begin() + 1));
  for (const std::size_t size : {16, 31, 65}) EXPECT_EQ(parse(size).kind, Kind::tagged);
  EXPECT_EQ(parse(64, false).kind, Kind::tagged);
  EXPECT_EQ(parse(15).kind, Kind::untagged);
}

TEST_F(TagMessageTest, WhatIsForTheProgramAloneHasNoTag) {
  for (const int other : {int{IBV_TMH_NO_TAG}, int{IBV_TMH_FIN}, 4, 255}) {
    opcode = static_cast<std::uint8_t>(other);
    EXPECT_EQ(parse(64).kind, Kind::untagged) << other;
    EXPECT_EQ(parse(64).tag, 0U);
  }
}

}  // namespace
}  // namespace softrnic::rnic::test
