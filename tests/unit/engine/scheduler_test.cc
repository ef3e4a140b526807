#include "engine/scheduler.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "engine/deadlines.h"
#include "flow/path_table.h"
#include "rnic/scheduler_hook.h"

namespace softrnic::engine {
namespace {

constexpr std::uint32_t kPacketBytes = 1024;

/// Sends what it is told to, through a window like an RC endpoint, and answers without one.
class FakeQp {
 public:
  explicit FakeQp(ib::PathWindow* window = nullptr) : window_(window) {}

  rnic::SchedulerHook<FakeQp>& hook() { return hook_; }
  FakeQp& endpoint() { return *this; }
  ib::PathWindow* window() const { return window_; }
  TimePoint deadline() const { return deadline_at; }

  ib::Transmit transmit(ib::TxPacket& out, TimePoint) {
    ++asked;
    out.payload_bytes = kPacketBytes;
    if (answers > 0) {
      --answers;
      ++reported;
      return ib::Transmit::packet;
    }
    if (requests == 0) return ib::Transmit::idle;
    if (tokens_missing) return ib::Transmit::blocked;
    if (window_ != nullptr) {
      if (!window_->has_much_room()) return ib::Transmit::blocked;
      window_->sent(kPacketBytes);
    }
    --requests;
    ++sent;
    return ib::Transmit::packet;
  }

  unsigned requests = 0, answers = 0;
  unsigned asked = 0, sent = 0, reported = 0;
  bool tokens_missing = false;
  TimePoint deadline_at = kNever;

 private:
  ib::PathWindow* window_;
  rnic::SchedulerHook<FakeQp> hook_;
};

class SchedulerTest : public testing::Test {
 protected:
  std::size_t run(std::size_t packets = 1'000'000) {
    return scheduler.run(
        TimePoint{}, packets, [this](const ib::TxPacket&) { ++on_link; }, [](FakeQp&) {},
        [this] { return on_link >= link_takes; });
  }
  std::size_t on_link = 0, link_takes = SIZE_MAX;
  flow::PathTable paths;
  Scheduler<FakeQp> scheduler;
};

TEST_F(SchedulerTest, AsksOnlyThoseThatWereTouched) {
  FakeQp a;
  FakeQp b;
  a.requests = b.requests = 3;
  scheduler.touch(a);
  scheduler.touch(a);
  EXPECT_EQ(run(), 3U);
  EXPECT_EQ(b.asked, 0U);
  EXPECT_FALSE(scheduler.has_work());
}

TEST_F(SchedulerTest, QueuePairsTakeTurnsOfABurst) {
  FakeQp a;
  FakeQp b;
  a.requests = b.requests = 10'000;
  scheduler.touch(a);
  scheduler.touch(b);
  run(2000);
  EXPECT_TRUE(scheduler.has_work());
  const unsigned burst = Scheduler<FakeQp>::kBurstBytes / kPacketBytes;
  EXPECT_NEAR(a.sent, b.sent, burst + 1);
}

TEST_F(SchedulerTest, AFullLinkIsGivenNoMoreThanTheTurnThatFillsIt) {
  FakeQp a;
  FakeQp b;
  a.requests = b.requests = 10'000;
  scheduler.touch(a);
  scheduler.touch(b);
  link_takes = 10;
  const std::size_t turn = run();
  EXPECT_LE(turn, Scheduler<FakeQp>::kBurstBytes / kPacketBytes);
  EXPECT_EQ(a.sent, turn);
  EXPECT_EQ(run(), 0U);
  EXPECT_TRUE(scheduler.has_work());
  link_takes = SIZE_MAX;
  EXPECT_EQ(run(), 20'000 - turn);
}

TEST_F(SchedulerTest, ThousandBlockedQueuePairsAreNotAskedAgain) {
  flow::Path& path = paths.path(wire::Gid{}, 1);
  std::vector<FakeQp> qps(1000, FakeQp(&path));
  for (FakeQp& qp : qps) {
    qp.requests = 1000;
    scheduler.touch(qp);
  }
  run();
  unsigned asked = 0;
  for (const FakeQp& qp : qps) asked += qp.asked;
  run();
  run();
  unsigned asked_again = 0;
  for (const FakeQp& qp : qps) asked_again += qp.asked;
  EXPECT_EQ(asked, asked_again);
  EXPECT_TRUE(scheduler.has_waiting());
}

TEST_F(SchedulerTest, AWindowIsSharedFairlyByThoseInLine) {
  flow::Path& path = paths.path(wire::Gid{}, 1);
  std::vector<FakeQp> qps(50, FakeQp(&path));
  for (FakeQp& qp : qps) {
    qp.requests = 100'000;
    scheduler.touch(qp);
  }
  run();
  // Each round the ACKs of those that have sent come in: they are touched, and must not push in.
  for (int round = 0; round < 2000; ++round) {
    path.acknowledged(path.in_flight());
    for (FakeQp& qp : qps) {
      if (qp.sent != 0) {
        qp.answers = 1;
        scheduler.touch(qp);
      }
    }
    run();
  }
  unsigned least = ~0U;
  unsigned most = 0;
  for (const FakeQp& qp : qps) {
    least = std::min(least, qp.sent);
    most = std::max(most, qp.sent);
    EXPECT_GT(qp.reported, 0U);
  }
  EXPECT_GT(least, most / 2);
}

TEST_F(SchedulerTest, AnswersGoOutWhileRequestsWait) {
  flow::Path& path = paths.path(wire::Gid{}, 1);
  FakeQp first(&path);
  FakeQp second(&path);
  first.requests = second.requests = 10'000;
  scheduler.touch(first);
  scheduler.touch(second);
  run();
  const unsigned before = first.sent + second.sent;
  first.answers = 5;
  scheduler.touch(first);
  EXPECT_EQ(run(), 5U);
  EXPECT_EQ(first.sent + second.sent, before);
}

TEST_F(SchedulerTest, WaitingForTokensDoesNotSpin) {
  flow::Path& path = paths.path(wire::Gid{}, 0);
  FakeQp qp(&path);
  qp.requests = 1;
  qp.tokens_missing = true;
  qp.deadline_at = TimePoint{} + Duration(100);
  scheduler.touch(qp);
  EXPECT_EQ(run(), 0U);
  EXPECT_EQ(qp.asked, 1U);
  EXPECT_FALSE(scheduler.has_work());
  // Blocked with room and without a deadline: asked again, but not for ever in one run
  qp.deadline_at = kNever;
  scheduler.touch(qp);
  EXPECT_EQ(run(), 0U);
  EXPECT_LT(qp.asked, 100U);
}

TEST_F(SchedulerTest, RemovedQueuePairsAreForgotten) {
  flow::Path& path = paths.path(wire::Gid{}, 1);
  path.sent(1'000'000);
  FakeQp waiting(&path);
  FakeQp behind(&path);
  FakeQp touched;
  waiting.requests = behind.requests = touched.requests = 1;
  scheduler.touch(waiting);
  scheduler.touch(behind);
  run();
  scheduler.touch(touched);
  scheduler.remove(waiting);
  scheduler.remove(touched);
  path.forgotten(1'000'000);
  EXPECT_EQ(run(), 1U);
  EXPECT_EQ(waiting.sent + touched.sent, 0U);
  EXPECT_EQ(behind.sent, 1U);
  EXPECT_FALSE(scheduler.has_waiting());
}

// Whatever happens in whatever order; in the end everything that was asked for has been sent.
TEST_F(SchedulerTest, HoldsItsInvariantsWhateverHappens) {
  std::mt19937 random(11);
  const auto below = [&](std::size_t limit) { return random() % limit; };
  flow::Path* const of[] = {&paths.path(wire::Gid{}, 1), &paths.path(wire::Gid{}, 2), nullptr};
  std::vector<FakeQp> qps;
  for (std::size_t i = 0; i < 30; ++i) qps.emplace_back(of[i % 3]);
  std::size_t wanted = 0;
  for (int step = 0; step < 20'000; ++step) {
    FakeQp& qp = qps[below(qps.size())];
    switch (below(5)) {
      case 0: {
        const auto more = static_cast<unsigned>(below(400));
        qp.requests += more;
        wanted += more;
        scheduler.touch(qp);
        break;
      }
      case 1:
        ++qp.answers;
        scheduler.touch(qp);
        break;
      case 2:
        scheduler.remove(qp);
        break;
      case 3:
        if (flow::Path* const path = of[below(2)])
          path->acknowledged(static_cast<std::uint32_t>(below(path->in_flight() + 1)));
        break;
      default:
        run(below(300));
    }
    ASSERT_EQ(scheduler.broken_invariant(), nullptr) << "step " << step;
  }
  for (FakeQp& qp : qps) scheduler.touch(qp);
  for (int round = 0; round < 10'000 && (run() != 0 || scheduler.has_waiting()); ++round)
    for (flow::Path* const path : {of[0], of[1]}) path->acknowledged(path->in_flight());
  std::size_t sent = 0;
  for (const FakeQp& qp : qps) sent += qp.sent;
  EXPECT_EQ(sent, wanted);
}

TEST(Deadlines, HoldTheirInvariantsWhateverHappens) {
  std::mt19937 random(12);
  const auto below = [&](int limit) { return static_cast<int>(random() % static_cast<unsigned>(limit)); };
  Deadlines<FakeQp> deadlines;
  std::vector<FakeQp> qps(40);
  TimePoint now{};
  for (int step = 0; step < 20'000; ++step) {
    FakeQp& qp = qps[static_cast<std::size_t>(below(40))];
    if (below(10) == 0) {
      deadlines.remove(qp);
    } else if (below(10) == 0) {
      qp.deadline_at = kNever;
    } else {
      qp.deadline_at = now + Duration(below(500));
      deadlines.update(qp);
    }
    now += Duration(below(20));
    while (FakeQp* const due = deadlines.pop_due(now)) {
      ASSERT_LE(due->deadline_at, now);
      due->deadline_at = kNever;
    }
    ASSERT_EQ(deadlines.broken_invariant(), nullptr) << "step " << step;
    ASSERT_GT(deadlines.earliest(), now);
  }
}

TEST(Deadlines, ComeUpInOrderAndLazily) {
  Deadlines<FakeQp> deadlines;
  std::vector<FakeQp> qps(100);
  for (std::size_t i = 0; i < qps.size(); ++i) {
    qps[i].deadline_at = TimePoint{} + Duration(1000 - static_cast<int>(i * 37 % 100));
    deadlines.update(qps[i]);
  }
  EXPECT_EQ(deadlines.earliest(), TimePoint{} + Duration(901));
  EXPECT_EQ(deadlines.pop_due(TimePoint{} + Duration(900)), nullptr);
  qps[0].deadline_at = TimePoint{} + Duration(5000);  // later: nobody has to be told
  qps[1].deadline_at = kNever;
  deadlines.remove(qps[2]);
  qps[3].deadline_at = TimePoint{} + Duration(1);
  deadlines.update(qps[3]);
  EXPECT_EQ(deadlines.pop_due(TimePoint{} + Duration(1)), &qps[3]);
  TimePoint last{};
  std::size_t popped = 0;
  for (int now = 0; now <= 1000; ++now) {
    while (FakeQp* qp = deadlines.pop_due(TimePoint{} + Duration(now))) {
      EXPECT_GE(qp->deadline_at, last);
      last = qp->deadline_at;
      ++popped;
    }
  }
  EXPECT_EQ(popped, 96U);
  EXPECT_EQ(deadlines.earliest(), TimePoint{} + Duration(5000));
}

}  // namespace
}  // namespace softrnic::engine
