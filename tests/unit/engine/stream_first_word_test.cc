// A responder on a lane, which lets its peer speak first (iwarp::WaitForPeer).
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "base/reason_id.h"
#include "tests/unit/engine/stream_fixture.h"

namespace softrnic::engine::test {
namespace {

class FirstWord : public testing::Test {
 protected:
  static rnic::StreamStart responder() {
    rnic::StreamStart start = start_of();
    start.agreement.waits_for_peer = iwarp::WaitForPeer::bounded;
    return start;
  }
  static void write(StreamHost& from, rnic::QueuePair& qp, const StreamHost& to) {
    from.post(qp, {.bytes = 8, .to = to.address(4096), .rkey = to.mr->key().value});
  }
  static bool explains(rnic::QueuePair& qp, ReasonId id) {
    const std::lock_guard lock(qp.lane().mutex());
    const ExplanationHistory* const told = qp.explained();
    return told != nullptr &&
           std::any_of(told->entries().begin(), told->entries().end(),
                       [&](const auto& each) { return each.times != 0 && each.latest.reason.id == id; });
  }

  TcpPair sockets;
};

// Nobody calls anything meanwhile.
TEST_F(FirstWord, IsSaidInTimeToAPeerThatSaysNothing) {
  StreamHost a{true, 3};
  rnic::QueuePair& qp = a.connect(sockets.a, responder());
  write(a, qp, a);
  std::array<char, 100> bytes{};
  ASSERT_GT(recv(sockets.b.get(), bytes.data(), bytes.size(), 0), 8);
  EXPECT_EQ(a.success().opcode, IBV_WC_RDMA_WRITE);
}

TEST_F(FirstWord, IsNotWrittenAsLongAsItWaits) {
  StreamHost a{false, 3};
  rnic::QueuePair& qp = a.connect(sockets.a, responder());
  write(a, qp, a);
  pollfd peer{sockets.b.get(), POLLIN, 0};
  for (bool waits = true; waits;) {
    const int readable = poll(&peer, 1, 0);
    {
      const std::lock_guard lock(a.lane.mutex());
      waits = qp.stream_endpoint().hesitates();
    }
    if (waits) {
      ASSERT_EQ(readable, 0);
    }
    a.let_run();
  }
  ASSERT_EQ(poll(&peer, 1, 30'000), 1);
}

TEST_F(FirstWord, OfThePeerEndsTheWait) {
  StreamHost a{true, 3}, b{true, 4};
  rnic::QueuePair& at_a = a.connect(sockets.a, responder());
  rnic::QueuePair& at_b = b.connect(sockets.b);
  write(b, at_b, a);
  write(a, at_a, b);
  EXPECT_EQ(b.success().opcode, IBV_WC_RDMA_WRITE);
  EXPECT_EQ(a.success().opcode, IBV_WC_RDMA_WRITE);
}

TEST_F(FirstWord, ThatIsAnsweredByAResetIsExplained) {
  StreamHost a{true, 3};
  rnic::QueuePair& qp = a.connect(sockets.a, responder());
  write(a, qp, a);
  a.success();
  sockets.b.reset();  // with bytes unread, which resets it
  EXPECT_TRUE(a.reaches(qp, IBV_QPS_ERR));
  EXPECT_TRUE(explains(qp, ReasonId::iwarp_spoke_first));
  EXPECT_FALSE(explains(qp, ReasonId::iwarp_socket));
}

}  // namespace
}  // namespace softrnic::engine::test
