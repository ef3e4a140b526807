// ACKs that wait for the program's answer, over packets between two processes (engine/delayed_ack.h).
#include <gtest/gtest.h>
#include <sched.h>

#include <cstdlib>

#include "base/clock.h"
#include "tests/unit/engine/adapter_fixture.h"

namespace softrnic::engine::test {
namespace {

/// Looks at the memory, without a call that would do the lane's work, until the peer has written that there.
void wait_for(const Node& node, std::size_t at, std::uint8_t value) {
  const TimePoint limit = monotonic_now() + std::chrono::seconds(20);
  while (__atomic_load_n(&node.memory[at], __ATOMIC_ACQUIRE) != value && monotonic_now() < limit)
    sched_yield();
  EXPECT_EQ(node.memory[at], value);
}

/// Takes turns with the peer: each side writes a byte and waits for the other's, `rounds` times.
void take_turns(Node& node, const Address& peer, bool begins, int rounds) {
  const std::size_t mine = begins ? 0 : 64;
  const std::size_t theirs = begins ? 64 : 0;
  for (int i = 1; i <= rounds && !testing::Test::HasFailure(); ++i) {
    const auto value = static_cast<std::uint8_t>(node.memory[mine] + 1);
    if (!begins) wait_for(node, theirs, value);
    node.memory[mine] = value;
    node.post(IBV_WR_RDMA_WRITE, mine, 1, peer);
    node.complete();
    if (begins) wait_for(node, theirs, value);
  }
}

// An ACK may wait for the program's answer (base/turn_predictor.h), but not for one that does not
// come, nor for a queue pair that is destroyed. Here nothing is ever sent again: were it not sent, the peer
// would wait for it in vain.
TEST(HeldAck, WhoWritesWithoutAnAnswerGetsHisAckAllTheSame) {
  in_namespace([] {
    constexpr int kTimes = 20;
    constexpr int kTurns = 12;
    constexpr std::uint8_t kNoTimeout = 0;
    setenv("SOFTRNIC_PATH", "wire", 1);
    two_processes(
        [](Node& node, const Address& peer, int) {
          for (int i = 0; i < kTimes && !testing::Test::HasFailure(); ++i) {
            take_turns(node, peer, true, kTurns);
            node.post(IBV_WR_RDMA_WRITE, 128, 1, peer);
            node.complete();
          }
          take_turns(node, peer, true, kTurns);
          node.memory[192] = 1;
          node.post(IBV_WR_RDMA_WRITE, 192, 1, peer);
          node.complete();
        },
        [](Node& node, const Address& peer, int) {
          for (int i = 0; i <= kTimes && !testing::Test::HasFailure(); ++i)
            take_turns(node, peer, false, kTurns);
          wait_for(node, 192, 1);  // and is destroyed at once
        },
        kNoTimeout);
  });
}

}  // namespace
}  // namespace softrnic::engine::test
