// Connections of iWARP queue pairs that break off at any place, or carry what no peer sends.
#include <gtest/gtest.h>

#include <array>

#include "tests/unit/engine/stream_fixture.h"

namespace softrnic::engine::test {
namespace {

/// Two hosts whose connection goes by way of the test, which decides what of it arrives.
class Between : public testing::Test {
 protected:
  enum class Cut { fin, reset };

  static void cut(UniqueFd& socket, Cut how) {
    const linger none{.l_onoff = 1, .l_linger = 0};
    if (how == Cut::reset) setsockopt(socket.get(), SOL_SOCKET, SO_LINGER, &none, sizeof none);
    socket.reset();
  }
  /// Carries exactly so many bytes.
  static void carry(int from, int to, std::size_t bytes) {
    std::vector<char> buffer(bytes);
    for (std::size_t done = 0; done < bytes;) {
      const ssize_t n = recv(from, buffer.data() + done, bytes - done, 0);
      ASSERT_GT(n, 0);
      done += static_cast<std::size_t>(n);
    }
    for (std::size_t done = 0; done < bytes;) {
      const ssize_t n = send(to, buffer.data() + done, bytes - done, MSG_NOSIGNAL);
      ASSERT_GT(n, 0);
      done += static_cast<std::size_t>(n);
    }
  }
  StreamHost::Request write(std::uint32_t bytes) {
    return {.from = 0, .bytes = bytes, .to = b.address(1 << 20), .rkey = b.mr->key().value};
  }

  StreamHost a{true, 3}, b{true, 4};
};

constexpr std::uint32_t kPayload = 1000;
constexpr std::size_t kFpdu = 2 + 14 + kPayload + 4;  // a WRITE: MPA length, DDP tagged header, payload, CRC

struct Stage {
  std::size_t bytes;  ///< that arrive
  bool whole;         ///< no FPDU is cut
};
constexpr Stage kStages[] = {{0, true},          {1, false},       {2, false},         {15, false},
                             {16, false},        {500, false},     {kFpdu - 1, false}, {kFpdu, true},
                             {kFpdu + 1, false}, {2 * kFpdu, true}};

TEST_F(Between, ACutAtAnyPlaceEndsTheQueuePairAndFlushesItsReceives) {
  for (const Cut how : {Cut::fin, Cut::reset}) {
    for (const Stage& stage : kStages) {
      SCOPED_TRACE(std::to_string(stage.bytes) + (how == Cut::fin ? " FIN" : " RST"));
      TcpPair left, right;
      rnic::QueuePair& at_a = a.connect(left.a);
      rnic::QueuePair& at_b = b.connect(right.b, start_of(false, false, 1000 + stage.bytes));
      b.receive(at_b, 0, 100, 5);
      a.post(at_a, write(kPayload));
      a.post(at_a, write(kPayload));
      a.success();
      a.success();
      carry(left.b.get(), right.a.get(), stage.bytes);
      cut(right.a, how);
      const ibv_wc wc = b.next();
      EXPECT_EQ(wc.status, IBV_WC_WR_FLUSH_ERR);
      EXPECT_EQ(wc.wr_id, 5U);
      EXPECT_EQ(b.next_end(), 1000 + stage.bytes);
      EXPECT_TRUE(b.reaches(at_b, IBV_QPS_ERR));
      b.destroy(at_b);
      a.destroy(at_a);
      EXPECT_EQ(a.next_end(), 7U);
    }
  }
}

TEST_F(Between, AReadThatIsNotAnsweredIsFlushed) {
  TcpPair sockets;
  rnic::QueuePair& qp = a.connect(sockets.a);
  StreamHost::Request read = write(kPayload);
  read.opcode = IBV_WR_RDMA_READ;
  a.post(qp, read);
  cut(sockets.b, Cut::fin);
  const ibv_wc wc = a.next();
  EXPECT_EQ(wc.status, IBV_WC_WR_FLUSH_ERR);
  EXPECT_EQ(wc.opcode, IBV_WC_RDMA_READ);
  EXPECT_EQ(a.next_end(), 7U);
}

TEST_F(Between, GarbageEndsTheConnection) {
  TcpPair sockets;
  rnic::QueuePair& qp = a.connect(sockets.a, start_of(true));
  std::array<char, 100> garbage{};
  garbage[1] = 40;
  ASSERT_EQ(send(sockets.b.get(), garbage.data(), garbage.size(), 0), 100);
  EXPECT_TRUE(a.reaches(qp, IBV_QPS_ERR));
  // A Terminate message comes, then the end of its side.
  std::array<char, 200> last_words{};
  std::size_t bytes = 0;
  for (ssize_t n = 1; n > 0; bytes += static_cast<std::size_t>(n)) {
    n = recv(sockets.b.get(), last_words.data() + bytes, last_words.size() - bytes, 0);
    ASSERT_GE(n, 0);
  }
  EXPECT_GE(bytes, 24U);
  EXPECT_EQ(last_words[3] & 0xf, 7);  // RDMAP Terminate
  cut(sockets.b, Cut::fin);
  EXPECT_EQ(a.next_end(), 7U);
}

// A connection that is reset while it waits for a receive is told of once, not at each look. What had come is
// there for the receive.
TEST_F(Between, AResetWhileAReceiveIsMissingKeepsNobodyBusy) {
  StreamHost waiting(false, 5);
  TcpPair left, right;
  rnic::QueuePair& at_a = a.connect(left.a);
  rnic::QueuePair& there = waiting.connect(right.b);
  constexpr std::size_t kSendFpdu = 2 + 18 + 100 + 4;
  a.post(at_a, {.opcode = IBV_WR_SEND, .from = 0, .bytes = 100});
  carry(left.b.get(), right.a.get(), kSendFpdu);
  const auto busy = [&] {
    waiting.let_run();
    pollfd streams{waiting.lane.streams_fd(), POLLIN, 0};
    return poll(&streams, 1, 0) > 0;
  };
  const TimePoint limit = monotonic_now() + kPatience;
  while (!waiting.held(there) && monotonic_now() < limit) waiting.let_run();
  ASSERT_TRUE(waiting.held(there));
  cut(right.a, Cut::reset);
  waiting.let_run();
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(busy());
  waiting.receive(there, 0, 100, 5);
  EXPECT_EQ(waiting.success().wr_id, 5U);
  EXPECT_TRUE(waiting.reaches(there, IBV_QPS_ERR));
}

}  // namespace
}  // namespace softrnic::engine::test
