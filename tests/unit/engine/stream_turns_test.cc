// Programs that take turns by WRITEs of iWARP: the completion that waits for the answer comes, whoever looks
// for it.
#include <gtest/gtest.h>

#include "tests/unit/engine/stream_fixture.h"

namespace softrnic::engine::test {
namespace {

class StreamTurns : public testing::Test {
 protected:
  static constexpr std::size_t kFrom = 0, kTo = 4096;

  StreamTurns() {
    TcpPair sockets;
    at_a = &a.connect(sockets.a);
    at_b = &b.connect(sockets.b);
  }
  static void write(StreamHost& from, rnic::QueuePair& qp, const StreamHost& to) {
    from.post(qp, {.from = kFrom, .bytes = 8, .to = to.address(kTo), .rkey = to.mr->key().value});
  }
  bool delayed() const { return at_a->stream_endpoint().delayed_until() != kNever; }
  /// Until a completion waits: on a busy machine answers come late now and then, which prove nothing.
  bool takes_turns() {
    const TimePoint limit = monotonic_now() + kPatience;
    while (monotonic_now() < limit) {
      write(a, *at_a, b);
      if (delayed()) return true;
      a.success();
      b.lane.service(true);
      write(b, *at_b, a);
      b.success();
      a.lane.service(true);
    }
    return false;
  }

  StreamHost a{false, 3}, b{false, 4};
  rnic::QueuePair* at_a;
  rnic::QueuePair* at_b;
};

TEST_F(StreamTurns, APollFindsItInTime) {
  ASSERT_TRUE(takes_turns());
  EXPECT_EQ(a.success().opcode, IBV_WC_RDMA_WRITE);
  EXPECT_FALSE(delayed());
}

TEST_F(StreamTurns, APollFindsItWithTheAnswer) {
  ASSERT_TRUE(takes_turns());
  b.lane.service(true);
  b.fill(kFrom, 8, 99);
  write(b, *at_b, a);
  EXPECT_EQ(a.success().opcode, IBV_WC_RDMA_WRITE);
}

TEST_F(StreamTurns, TheEngineThreadIsWokenForItWhereNobodyPolls) {
  ASSERT_TRUE(takes_turns());
  pollfd timer{a.lane.timer_fd(), POLLIN, 0};
  while (delayed()) {
    ASSERT_EQ(poll(&timer, 1, 30'000), 1);
    a.lane.service(true);
  }
  ibv_wc wc{};
  EXPECT_EQ(a.cq->poll(1, &wc), 1);
  EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
}

TEST_F(StreamTurns, OneOfALaneWaits) {
  rnic::QueuePair* const first = at_a;
  rnic::QueuePair* const first_of_b = at_b;
  TcpPair sockets;
  rnic::QueuePair& second = a.connect(sockets.a);
  at_a = &second;
  at_b = &b.connect(sockets.b);
  ASSERT_TRUE(takes_turns());
  b.lane.service(true);
  write(b, *at_b, a);
  a.lane.service(true);
  a.success();
  b.success();
  at_a = first;
  at_b = first_of_b;
  ASSERT_TRUE(takes_turns());
  write(a, second, b);
  const bool second_waits = second.stream_endpoint().delayed_until() != kNever;
  EXPECT_FALSE(delayed() && second_waits);
  a.success();
  a.success();
}

TEST_F(StreamTurns, AQueuePairThatGoesTakesItAlong) {
  ASSERT_TRUE(takes_turns());
  a.destroy(*at_a);
  a.lane.service(true);
}

}  // namespace
}  // namespace softrnic::engine::test
