// ACKs that wait for the program's answer, over packets between two processes (engine/delayed_ack.h).
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/clock.h"
#include "tests/unit/engine/adapter_fixture.h"

namespace softrnic::engine::test {
namespace {

/// Takes turns with the peer: each side writes a byte and waits for the other's, `rounds` times.
void take_turns(Node& node, const Address& peer, bool begins, int rounds) {
  const std::size_t mine = begins ? 0 : 64;
  const std::size_t theirs = begins ? 64 : 0;
  const auto wait_for = [&](std::uint8_t value) {
    const TimePoint limit = monotonic_now() + std::chrono::seconds(20);
    while (__atomic_load_n(&node.memory[theirs], __ATOMIC_ACQUIRE) != value && monotonic_now() < limit) {
    }
    EXPECT_EQ(node.memory[theirs], value);
  };
  for (int i = 1; i <= rounds && !testing::Test::HasFailure(); ++i) {
    const auto value = static_cast<std::uint8_t>(node.memory[mine] + 1);
    if (!begins) wait_for(value);
    node.memory[mine] = value;
    node.post(IBV_WR_RDMA_WRITE, mine, 1, peer);
    node.complete();
    if (begins) wait_for(value);
  }
}

// An ACK may wait for the program's answer (base/turn_predictor.h), but not for one that does not
// come, nor for a queue pair that is destroyed. Were it not sent, the peer would have to ask again each time.
TEST(HeldAck, WhoWritesWithoutAnAnswerGetsHisAckAllTheSame) {
  in_namespace([] {
    constexpr int kTimes = 50;
    constexpr int kTurns = 12;
    setenv("SOFTRNIC_PATH", "wire", 1);
    two_processes(
        [](Node& node, const Address& peer, int) {
          for (int i = 0; i < kTimes && !testing::Test::HasFailure(); ++i) {
            take_turns(node, peer, true, kTurns);
            node.post(IBV_WR_RDMA_WRITE, 128, 1, peer);
            node.complete();
          }
          EXPECT_LT(counted(node, ib::Counter::retransmits), kTimes / 2);
          take_turns(node, peer, true, kTurns);
          node.memory[192] = 1;
          node.post(IBV_WR_RDMA_WRITE, 192, 1, peer);
          node.complete();
        },
        [](Node& node, const Address& peer, int) {
          for (int i = 0; i <= kTimes && !testing::Test::HasFailure(); ++i)
            take_turns(node, peer, false, kTurns);
          const TimePoint limit = monotonic_now() + std::chrono::seconds(20);
          while (__atomic_load_n(&node.memory[192], __ATOMIC_ACQUIRE) == 0 && monotonic_now() < limit) {
          }  // and is destroyed at once
        });
  });
}

}  // namespace
}  // namespace softrnic::engine::test
