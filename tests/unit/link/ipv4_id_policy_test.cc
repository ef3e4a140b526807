#include "link/ipv4_id_policy.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>

namespace softrnic::link {
namespace {

using namespace std::chrono_literals;

const wire::Gid kPeer = wire::Gid::from_ipv4_be(0x0100007f);
const wire::Gid kOther = wire::Gid::from_ipv4_be(0x0200007f);

class IdPolicyTest : public ::testing::Test {
 protected:
  bool accept(std::uint16_t id, const wire::Gid& source = kPeer) {
    return ids.accept(source, id, {.after = now, .before = now});
  }
  bool accept_after(Duration silence, std::uint16_t id) {
    now += silence;
    return accept(id);
  }
  IdPolicy ids;
  TimePoint now{1h};
};

TEST_F(IdPolicyTest, ZeroBasedPeersMayUseBatchIdsOnly) {
  for (int batch = 0; batch < 2; ++batch)
    for (std::uint16_t id = 0; id < 64; ++id) EXPECT_TRUE(accept(id));
  EXPECT_TRUE(ids.is_zero_based(kPeer));
  for (const std::uint16_t id : std::to_array<std::uint16_t>({5000, 60000, 30000}))
    EXPECT_FALSE(accept(id)) << id;
  EXPECT_TRUE(accept(0));
  EXPECT_EQ(ids.expected(kPeer, 0), 0);
  EXPECT_EQ(ids.expected(kPeer, 7), 7);
}

TEST_F(IdPolicyTest, ACountIsBelievedFromItsFirstPacketOn) {
  EXPECT_TRUE(accept(40000));
  EXPECT_EQ(ids.expected(kPeer, 0), 40001);
  EXPECT_EQ(ids.expected(kPeer, 3), 40001) << "its packets may have been put together, too";
  EXPECT_TRUE(accept(40001));
  EXPECT_TRUE(accept(40003));
  EXPECT_TRUE(accept(40002)) << "reordered";
  EXPECT_TRUE(accept(41000));
  EXPECT_FALSE(accept(20000)) << "a jump without silence";
  EXPECT_TRUE(accept(41001));
}

TEST_F(IdPolicyTest, ACountMayBeginAnywhereAndWrap) {
  for (std::uint32_t first = 0; first <= 0xffff; first += 5) {
    IdPolicy fresh;
    for (std::uint32_t i = 0; i < 200; ++i)
      EXPECT_TRUE(fresh.accept(kPeer, static_cast<std::uint16_t>(first + i), {now, now}))
          << first << " + " << i;
    if (first > 1000 && first < 64000) first += 995;
  }
}

// A REQ that the kernel's driver repeated, after seconds of silence each, and another peer between.
TEST_F(IdPolicyTest, ACountMayJumpWhereItLayIdle) {
  EXPECT_TRUE(accept(0x44ae));
  EXPECT_TRUE(accept_after(2s, 0x5204));
  EXPECT_TRUE(accept(100, kOther));
  EXPECT_TRUE(accept_after(4s, 0x64f7));
  EXPECT_TRUE(accept_after(4s, 0x1234)) << "once round";
  EXPECT_TRUE(accept_after(5ms, 0x0234)) << "which takes other traffic some milliseconds";
}

TEST_F(IdPolicyTest, TheLongerTheSilenceTheFartherTheJump) {
  EXPECT_TRUE(accept(10000));
  EXPECT_FALSE(accept(10000 + 4000));
  EXPECT_TRUE(accept_after(122us, 10000 + 4000));
  EXPECT_FALSE(accept_after(1ms, 14000 + 18049));
}

TEST_F(IdPolicyTest, AnArrivalThatIsNotKnownExactlyIsSilence) {
  EXPECT_TRUE(ids.accept(kPeer, 10000, {.after = now - 1s, .before = now}));
  EXPECT_TRUE(ids.accept(kPeer, 50000, {.after = now - 1ms, .before = now}))
      << "it may have lain there for long";
}

TEST_F(IdPolicyTest, OnePacketOfANewHabitIsRefusedAndTheNextIsBelieved) {
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(accept(0));
  EXPECT_FALSE(accept(9000));
  EXPECT_FALSE(accept(9000)) << "the same one is no second sign";
  EXPECT_TRUE(accept(9001));
  EXPECT_TRUE(accept(9002));
  for (const auto id : std::to_array<std::uint16_t>({0, 1, 2, 0, 0}))
    EXPECT_TRUE(accept(id)) << "and back, without a loss";
  EXPECT_TRUE(ids.is_zero_based(kPeer));
}

TEST_F(IdPolicyTest, DamageNowAndThenIsNoHabit) {
  EXPECT_TRUE(accept(0));
  for (std::uint16_t id = 9000; id < 9020; ++id) {
    for (int i = 0; i < 13; ++i) EXPECT_TRUE(accept_after(5s, 0));
    EXPECT_FALSE(accept(id));
  }
  EXPECT_TRUE(ids.is_zero_based(kPeer));
}

TEST_F(IdPolicyTest, AfterALongSilenceItMayBeAnotherAdapter) {
  EXPECT_TRUE(accept(0));
  EXPECT_TRUE(accept(0));
  EXPECT_TRUE(accept_after(11s, 9000));
}

TEST_F(IdPolicyTest, WhoeverHasSeveralCountsIsBelieved) {
  int refused = 0;
  for (std::uint16_t i = 0; i < 1000; ++i)
    for (const int count : {1000, 21000, 41000})
      refused += accept(static_cast<std::uint16_t>(count + i)) ? 0 : 1;
  EXPECT_LT(refused, int{IdPolicy::kMostStrange});
}

TEST_F(IdPolicyTest, WhoeverHasNoOrderIsBelieved) {
  int refused = 0;
  for (std::uint32_t i = 0; i < 1000; ++i)
    refused += accept(static_cast<std::uint16_t>(1000 + i * 30011)) ? 0 : 1;
  EXPECT_LT(refused, int{IdPolicy::kMostStrange});
}

// Packets that somebody sends in the name of an honest peer, between its own.
TEST_F(IdPolicyTest, ForgeriesCostAPeerThreePacketsAtMost) {
  for (const bool counts : {true, false}) {
    for (std::uint32_t forged = 0; forged < 0xffff; forged += 777) {
      IdPolicy fresh;
      int refused = 0;
      for (std::uint32_t i = 0; i < 300; ++i) {
        const auto bad = static_cast<std::uint16_t>(forged * (i % 3 == 0 ? 1 : i));
        static_cast<void>(fresh.accept(kPeer, bad, {now, now}));
        const auto own = static_cast<std::uint16_t>(counts ? 30000 + i : i % 64);
        refused += fresh.accept(kPeer, own, {now, now}) ? 0 : 1;
      }
      EXPECT_LT(refused, counts ? int{IdPolicy::kMostStrange} : 1) << forged;
    }
  }
}

// Somebody sends so often that the peer, which repeats a REQ, is never the one that was heard last.
TEST_F(IdPolicyTest, ForgeriesDoNotKeepASlowPeerOut) {
  for (const std::uint32_t forged : {0U, 3U, 9000U}) {
    IdPolicy fresh;
    int refused = 0;
    for (std::uint32_t request = 0; request < 10; ++request) {
      for (int i = 0; i < 4000; ++i, now += 1ms)
        static_cast<void>(fresh.accept(kPeer, static_cast<std::uint16_t>(forged), {now, now}));
      const auto own = static_cast<std::uint16_t>(30000 + request * 3500);
      refused += fresh.accept(kPeer, own, {now, now}) ? 0 : 1;
    }
    EXPECT_LT(refused, int{IdPolicy::kMostStrange}) << forged;
  }
}

TEST_F(IdPolicyTest, PeersAreIndependent) {
  EXPECT_TRUE(accept(7000));
  EXPECT_TRUE(accept(0, kOther));
  EXPECT_TRUE(accept(0, kOther));
  EXPECT_FALSE(accept(7001, kOther));
  EXPECT_TRUE(accept(7001));
}

}  // namespace
}  // namespace softrnic::link
