// Many processes on one host: at once, one after the other, and killed at any moment.
#include <poll.h>

#include <random>

#include "workers.h"

namespace softrnic::robust {
namespace {

constexpr int kRetryExceeded = 112;  // exit status of a worker: 100 + IBV_WC_RETRY_EXC_ERR

Worker once() { return Worker({"once"}, UniqueFd()); }

/// The daemon's descriptors without the pages of dead processes and the lanes, which it keeps on
/// purpose: a lane is a socket.
std::size_t descriptors_in_use(const control::StatusReply& status) {
  return descriptors_of(status.pid) - status.dead_pages - status.lanes_made;
}

class ProcessesTest : public testing::Test {
 protected:
  void SetUp() override {
    Worker first = once();
    ASSERT_EQ(first.wait(), 0);
    ASSERT_TRUE(daemon_gets_to(is_quiet));
    at_rest_ = descriptors_in_use(*daemon_status());
  }
  /// Everything that the workers held is the daemon's again.
  void expect_nothing_is_missing() const {
    const auto all_back = [this](const control::StatusReply& status) {
      return is_quiet(status) && descriptors_in_use(status) <= at_rest_;
    };
    EXPECT_TRUE(daemon_gets_to(all_back))
        << daemon_status()->lanes_used << " lanes are in use, and " << descriptors_in_use(*daemon_status())
        << " descriptors, at first " << at_rest_;
  }

 private:
  std::size_t at_rest_ = 0;
};

TEST_F(ProcessesTest, AHundredAtOnce) {
  constexpr unsigned kPairs = 50;
  std::vector<Worker> workers;
  for (unsigned i = 0; i < kPairs; ++i) {
    auto [left, right] = pair_of({"pair", "12"});
    workers.push_back(std::move(left));
    workers.push_back(std::move(right));
  }
  for (Worker& worker : workers) EXPECT_EQ(worker.wait(), 0);
  expect_nothing_is_missing();
}

TEST_F(ProcessesTest, ThreeHundredInTurnUseTheSameLane) {
  const std::uint32_t made_before = daemon_status()->lanes_made;  // by the tests before this one too
  for (unsigned i = 0; i < 300; ++i) {
    Worker worker = once();
    ASSERT_EQ(worker.wait(), 0) << "process " << i;
  }
  expect_nothing_is_missing();
  // one that ends is still in the daemon's books when the next one comes
  EXPECT_LE(daemon_status()->lanes_made, made_before + 1);
}

TEST_F(ProcessesTest, ThePeerOfAKilledProcessSeesRetriesExceeded) {
  std::mt19937 dice(1);
  std::vector<Worker> victims, survivors;
  for (unsigned i = 0; i < 4; ++i) {
    auto [left, right] = pair_of({"stream"});
    victims.push_back(std::move(left));
    survivors.push_back(std::move(right));
  }
  for (Worker& victim : victims) {
    EXPECT_TRUE(victim.reports(1 + static_cast<unsigned>(dice() % 20)));
    victim.kill_now();
  }
  // newcomers get the lanes of the dead while their peers still send to them
  for (unsigned i = 0; i < 4; ++i) EXPECT_EQ(once().wait(), 0);
  for (Worker& survivor : survivors) EXPECT_EQ(survivor.wait(), kRetryExceeded);
  victims.clear();
  expect_nothing_is_missing();
}

TEST_F(ProcessesTest, KilledAtAnyMomentTheyLeaveNothing) {
  std::mt19937 dice(2);
  for (unsigned round = 0; round < 40; ++round) {
    std::vector<Worker> victims;
    for (unsigned i = 0; i < 2; ++i) victims.emplace_back(std::vector<std::string>{"churn"}, UniqueFd());
    for (Worker& victim : victims) {
      if (round % 2 == 0) {
        EXPECT_TRUE(victim.reports(1));
      }
      poll(nullptr, 0, static_cast<int>(dice() % 25));  // any moment
      victim.kill_now();
    }
  }
  expect_nothing_is_missing();
  EXPECT_EQ(once().wait(), 0);
}

}  // namespace
}  // namespace softrnic::robust
