// What happens to one side of the direct path when the other one is killed in the middle of an access.
// DIRECT_ROUNDS is how often.

#include <chrono>
#include <cstring>
#include <random>

#include "direct_ways.h"

namespace softrnic::robust {
namespace {

constexpr std::uint8_t kShortTimeout = 8;  ///< 1 ms to the first retry

using Post = bool (*)(Side&, const Card&);
bool post_all(Side& side, const Card& peer) { return post_write(side, peer, Side::kBytes); }
bool post_nothing(Side& side, const Card&) { return post_empty(side, IBV_WR_RDMA_WRITE); }

/// Posts until that fails; tells `tester` when it is at it.
int post_until_it_fails(const Way& way, Post post, const Line& line, const Line& tester) {
  Side side(way.memory());
  Card peer;
  if (!meet(side, line, peer)) return fail(refused, "a connection");
  std::memset(memory_of(side), kWritten, Side::kBytes);
  if (!write_until_it_goes(way, side, peer)) return not_as_expected;
  if (!side.change_timeout(kShortTimeout)) return fail(refused, "another timeout in SQD");
  if (!tester.tell()) return fail(no_peer, "a tester");
  ibv_wc wc{};
  do {
    if (!post(side, peer)) return fail(refused, "a post");
    if (!side.next(wc)) return fail(not_as_expected, "a completion within 20 s");
  } while (wc.status == IBV_WC_SUCCESS);
  return wc.status == IBV_WC_RETRY_EXC_ERR ? done : fail(not_as_expected, "retries exceeded", wc);
}

/// Is written until `tester` says that the writer is dead, and takes its memory back.
int outlive_the_writer(const Way& way, const Line& line, const Line& tester) {
  Side side(way.memory());
  Card peer;
  if (!meet(side, line, peer)) return fail(refused, "a connection");
  if (!tester.hear()) return fail(no_peer, "a tester");
  std::uint8_t* const memory = memory_of(side);
  if (ibv_dereg_mr(side.mr) != 0) return fail(refused, "a deregistration");
  side.mr = nullptr;
  std::memset(memory, kOwn, Side::kBytes);
  if (!holds_only(memory, kOwn)) return fail(wrong_bytes, "memory that is its owner's");
  return side.close() ? done : fail(refused, "an end");
}

/// Two processes, of which one writes to the other.
struct Round {
  explicit Round(const Way& chosen, Post posts = post_all) : way(chosen), post(posts) {}

  const Way& way;
  const Post post;
  Lines lines, to_target, to_writer;
  pid_t target =
      start_child([this] { return outlive_the_writer(way, Line(lines.a.get()), Line(to_target.b.get())); });
  pid_t writer = start_child(
      [this] { return post_until_it_fails(way, post, Line(lines.b.get()), Line(to_writer.b.get())); });
};

/// Kills one of them while it is at it.
void kill_one(const Round& round, pid_t victim, std::mt19937& dice) {
  kill_at_random(Line(round.to_writer.a.get()), victim, std::chrono::microseconds(100), dice);
}

TEST_P(DirectDeathTest, AWriterThatDiesInsideHoldsNobodyUp) {
  std::mt19937 dice(3);
  for (unsigned i = 0; i < rounds(20); ++i) {
    const Round round(GetParam());
    ASSERT_NO_FATAL_FAILURE(kill_one(round, round.writer, dice));
    ASSERT_TRUE(Line(round.to_target.a.get()).tell());
    ASSERT_EQ(end_of(round.target), done) << "round " << i;
  }
}

TEST_P(DirectDeathTest, WhoWritesToTheDeadSeesRetriesExceeded) {
  std::mt19937 dice(4);
  for (unsigned i = 0; i < rounds(20); ++i) {
    const Round round(GetParam());
    ASSERT_NO_FATAL_FAILURE(kill_one(round, round.target, dice));
    ASSERT_EQ(end_of(round.writer), done) << "round " << i;
  }
}

TEST_P(DirectDeathTest, AFlushTowardsTheDeadEndsWithRetriesExceeded) {
  std::mt19937 dice(5);
  for (unsigned i = 0; i < rounds(20); ++i) {
    const Round round(GetParam(), post_nothing);
    ASSERT_NO_FATAL_FAILURE(kill_one(round, round.target, dice));
    ASSERT_EQ(end_of(round.writer), done) << "round " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, DirectDeathTest, testing::ValuesIn(kWays), name_of);

}  // namespace
}  // namespace softrnic::robust
