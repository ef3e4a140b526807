// How the connections of iWARP queue pairs end: in good order, or by an error of either side.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "rnic/completion_channel.h"
#include "tests/unit/engine/stream_fixture.h"

namespace softrnic::engine::test {
namespace {

class Connected : public testing::Test {
 protected:
  void connect(bool threaded = true, int buffer = 0) {
    a = std::make_unique<StreamHost>(threaded, 3);
    b = std::make_unique<StreamHost>(threaded, 4);
    add(buffer);
  }
  void add(int buffer = 0) {
    TcpPair sockets(buffer);
    at_a = &a->connect(sockets.a, start_of(false, false, 21));
    at_b = &b->connect(sockets.b, start_of(false, false, 22));
  }
  StreamHost::Request to_b(ibv_wr_opcode opcode, std::uint32_t bytes) {
    return {.opcode = opcode, .bytes = bytes, .to = b->address(1 << 20), .rkey = b->mr->key().value};
  }
  /// The next asynchronous event of a host, which must come.
  static ibv_event_type next_event(StreamHost& host) {
    pollfd entry{host.context.events().fd(), POLLIN, 0};
    if (poll(&entry, 1, 30'000) <= 0) return IBV_EVENT_DEVICE_FATAL;
    const auto event = host.context.events().get();
    if (!event) return IBV_EVENT_DEVICE_FATAL;
    host.context.events().acknowledge(*event);
    return event->type;
  }

  std::unique_ptr<StreamHost> a, b;
  rnic::QueuePair* at_a = nullptr;
  rnic::QueuePair* at_b = nullptr;
};

TEST_F(Connected, ClosingFinishesWhatIsPosted) {
  connect();
  b->receive(*at_b, 0, 100);
  for (int i = 0; i < 20; ++i) a->post(*at_a, to_b(IBV_WR_RDMA_WRITE, 200'000));
  EXPECT_TRUE(at_a->close_stream());
  for (int i = 0; i < 20; ++i) a->success();
  EXPECT_EQ(b->next().status, IBV_WC_WR_FLUSH_ERR);
  EXPECT_EQ(a->next_end(), 21U);
  EXPECT_EQ(b->next_end(), 22U);
  EXPECT_TRUE(a->reaches(*at_a, IBV_QPS_ERR));
  EXPECT_TRUE(b->reaches(*at_b, IBV_QPS_ERR));
  EXPECT_TRUE(at_a->close_stream()) << "the peer may have been faster";
}

TEST_F(Connected, NothingIsPostedToWhatIsBeingClosed) {
  connect(false);
  EXPECT_TRUE(StreamHost::modify(*at_a, IBV_QPS_SQD));
  EXPECT_EQ(StreamHost::state_of(*at_a), IBV_QPS_SQD);
  const auto posted = a->try_post(*at_a, to_b(IBV_WR_SEND, 1));
  ASSERT_FALSE(posted);
  EXPECT_EQ(posted.error().error, EINVAL);
}

TEST_F(Connected, ErrFlushesAndTellsThePeer) {
  connect();
  a->receive(*at_a, 0, 100, 31);
  b->receive(*at_b, 0, 100, 32);
  EXPECT_TRUE(StreamHost::modify(*at_a, IBV_QPS_ERR));
  EXPECT_EQ(a->next().status, IBV_WC_WR_FLUSH_ERR);
  EXPECT_EQ(b->next().status, IBV_WC_WR_FLUSH_ERR);
  EXPECT_EQ(a->next_end(), 21U);
  EXPECT_EQ(b->next_end(), 22U);
  EXPECT_EQ(a->ends.take({}), 0U);
}

TEST_F(Connected, ResetFreesTheQueuePairForAnotherConnection) {
  connect();
  EXPECT_TRUE(StreamHost::modify(*at_a, IBV_QPS_RESET));
  EXPECT_EQ(a->next_end(), 21U);
  EXPECT_EQ(b->next_end(), 22U);
  TcpPair sockets;
  EXPECT_TRUE(at_a->start_stream(sockets.a, start_of(false, false, 23)));
  rnic::QueuePair& other = b->connect(sockets.b);
  b->receive(other, 0, 100);
  a->post(*at_a, to_b(IBV_WR_SEND, 100));
  a->success();
  b->success();
}

TEST_F(Connected, DestroyingInFlightEndsThePeersConnection) {
  connect(true, 64 * 1024);
  for (int i = 0; i < 10; ++i) a->post(*at_a, to_b(IBV_WR_RDMA_WRITE, 1 << 20));
  a->destroy(*at_a);
  EXPECT_EQ(a->next_end(), 21U);
  EXPECT_EQ(b->next_end(), 22U);
  EXPECT_TRUE(b->reaches(*at_b, IBV_QPS_ERR));
}

// A completion says that TCP has it: a program may end then.
TEST_F(Connected, WhatIsCompleteArrivesAlsoWhenTheQueuePairGoes) {
  connect(false);
  for (int round = 0; round < 20; ++round) {
    b->receive(*at_b, 0, 50'000);
    a->fill(0, 50'000, 3);
    a->post(*at_a, to_b(IBV_WR_SEND, 50'000));
    a->success();
    a->destroy(*at_a);
    EXPECT_EQ(b->success().byte_len, 50'000U);
    add();
  }
}

TEST_F(Connected, AWriteThatIsNotAllowedIsTheEndForBoth) {
  connect();
  a->receive(*at_a, 0, 100);
  StreamHost::Request request = to_b(IBV_WR_RDMA_WRITE, 100);
  request.rkey ^= 0x5500;
  a->post(*at_a, request);
  EXPECT_EQ(next_event(*b), IBV_EVENT_QP_ACCESS_ERR);
  EXPECT_EQ(next_event(*a), IBV_EVENT_QP_ACCESS_ERR);
  EXPECT_EQ(a->success().opcode, IBV_WC_RDMA_WRITE);  // TCP had taken it
  EXPECT_EQ(a->next().status, IBV_WC_WR_FLUSH_ERR);
  EXPECT_EQ(a->next_end(), 21U);
  EXPECT_EQ(b->next_end(), 22U);
}

TEST_F(Connected, AReadThatIsNotAllowedFailsWithRemoteAccess) {
  connect();
  StreamHost::Request request = to_b(IBV_WR_RDMA_READ, 100);
  request.rkey ^= 0x5500;
  a->post(*at_a, request);
  EXPECT_EQ(a->next().status, IBV_WC_REM_ACCESS_ERR);
  EXPECT_TRUE(a->reaches(*at_a, IBV_QPS_ERR));
  EXPECT_TRUE(b->reaches(*at_b, IBV_QPS_ERR));
}

TEST_F(Connected, ASendWithoutAReceiveIsTheEnd) {
  connect();
  a->post(*at_a, to_b(IBV_WR_SEND, 100));
  EXPECT_TRUE(a->reaches(*at_a, IBV_QPS_ERR));
  EXPECT_TRUE(b->reaches(*at_b, IBV_QPS_ERR));
}

// A peer that does not read holds up its own queue pair, and no other of the lane.
TEST_F(Connected, APeerThatDoesNotReadHoldsUpNobodyElse) {
  connect(false, 64 * 1024);
  rnic::QueuePair* const slow = at_a;
  for (int i = 0; i < 30; ++i) a->post(*slow, to_b(IBV_WR_RDMA_WRITE, 1 << 20));
  StreamHost other(true, 5);
  TcpPair sockets;
  rnic::QueuePair& fast = a->connect(sockets.a);
  rnic::QueuePair& peer = other.connect(sockets.b);
  for (int i = 0; i < 50; ++i) {
    other.receive(peer, 0, 1000);
    StreamHost::Request send = to_b(IBV_WR_SEND, 1000);
    send.id = 99;
    a->post(fast, send);
    EXPECT_EQ(a->success().wr_id, 99U);
    other.success();
  }
  EXPECT_TRUE(a->idle());
  const TimePoint limit = monotonic_now() + kPatience;
  int done = 0;
  for (ibv_wc wc{}; done < 30 && monotonic_now() < limit; b->let_run()) {
    if (a->cq->poll(1, &wc) == 0) continue;
    EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
    ++done;
  }
  EXPECT_EQ(done, 30);
}

TEST_F(Connected, ManyQueuePairsTakeTurns) {
  constexpr std::size_t kPairs = 150;
  connect(true);
  while (a->qps.size() < kPairs) add();
  for (std::size_t i = 0; i < kPairs; ++i) {
    for (int each = 0; each < 4; ++each) {
      b->receive(*b->qps[i], i * 1000, 1000, i);
      a->post(*a->qps[i], to_b(IBV_WR_SEND, 1000));
    }
  }
  std::vector<int> received(kPairs);
  for (std::size_t i = 0; i < 4 * kPairs; ++i) {
    a->success();
    ++received[b->success().wr_id];
  }
  EXPECT_EQ(received, std::vector<int>(kPairs, 4));
}

TEST_F(Connected, AProgramThatSleepsIsWoken) {
  connect();
  auto channel = rnic::CompletionChannel::create();
  ASSERT_TRUE(channel);
  auto made = rnic::CompletionQueue::create(b->context, {.entries = 10, .channel = channel->get()});
  ASSERT_TRUE(made);
  rnic::QueuePairInit init;
  init.send_cq = init.recv_cq = made->get();
  init.cap.max_recv_wr = init.cap.max_recv_sge = 1;
  auto qp = rnic::QueuePair::create(*b->pd, init);
  ASSERT_TRUE(qp);
  TcpPair sockets;
  ASSERT_TRUE((*qp)->start_stream(sockets.b, start_of()));
  rnic::QueuePair& sender = a->connect(sockets.a);
  b->receive(**qp, 0, 100);
  EXPECT_TRUE((*made)->request_notification(false));
  a->post(sender, to_b(IBV_WR_SEND, 100));
  pollfd entry{(*channel)->fd(), POLLIN, 0};
  EXPECT_GT(poll(&entry, 1, 30'000), 0);
  const auto event = (*channel)->get();
  ASSERT_TRUE(event);
  EXPECT_EQ(*event, made->get());
  (*made)->acknowledge(1);
  ibv_wc wc{};
  EXPECT_EQ((*made)->poll(1, &wc), 1);
  EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
  EXPECT_TRUE((*qp)->destroy());
  EXPECT_TRUE((*made)->destroy());
  EXPECT_TRUE((*channel)->destroy());
}

// The child's copies of the descriptors go, and nothing else happens to the connection.
TEST_F(Connected, AForkedChildLeavesTheConnectionToItsParent) {
  connect(false);
  a->lane.mutex().lock();
  b->lane.mutex().lock();
  const pid_t child = fork();
  if (child == 0) {
    a->abandon();
    b->abandon();
    a->lane.mutex().unlock();
    b->lane.mutex().unlock();
    std::array<std::uint64_t, 1> token{};
    const bool gone = at_a->destroy() && a->ends.take(token) == 0;
    _exit(gone && a->lane.streams_fd() < 0 ? 0 : 1);
  }
  a->lane.mutex().unlock();
  b->lane.mutex().unlock();
  int status = 1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  b->receive(*at_b, 0, 1000);
  a->post(*at_a, to_b(IBV_WR_SEND, 1000));
  a->success();
  b->success();
}

// A lane's number and that of a queue pair are all that a packet needs to get there.
TEST_F(Connected, PacketsAreNoneOfItsBusiness) {
  connect(false);
  ib::RxPacket packet;
  packet.packet.headers.bth.opcode = wire::Opcode::rc_send_only;
  packet.packet.info = &wire::opcode_info(wire::Opcode::rc_send_only);
  const std::lock_guard lock(a->lane.mutex());
  at_a->receive(packet, a->lane.now());
  EXPECT_EQ(at_a->counters()[ib::Counter::drop_service], 1U);
  EXPECT_FALSE(at_a->lacks_receive(packet));
  EXPECT_EQ(at_a->state(), IBV_QPS_RTS);
}

// ---- what is no connection

TEST_F(Connected, WhatIsNoConnectionIsRefusedAndStaysTheCallers) {
  connect(false);
  UniqueFd file(open("/dev/null", O_RDWR | O_CLOEXEC));
  UniqueFd datagrams(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  UniqueFd unconnected(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  UniqueFd none;
  const struct {
    UniqueFd& fd;
    int error;
  } rows[] = {{file, ENOTSOCK}, {datagrams, EPROTOTYPE}, {unconnected, ENOTCONN}, {none, EBADF}};
  rnic::QueuePair& qp = a->make_qp();
  for (const auto& row : rows) {
    const int before = row.fd.get();
    const auto started = qp.start_stream(row.fd, start_of());
    ASSERT_FALSE(started);
    EXPECT_EQ(started.error().error, row.error);
    EXPECT_EQ(row.fd.get(), before);
    EXPECT_EQ(StreamHost::state_of(qp), IBV_QPS_RESET);
  }
  TcpPair sockets;
  const auto twice = at_a->start_stream(sockets.a, start_of());
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().error, EINVAL);
  EXPECT_TRUE(static_cast<bool>(sockets.a));
  EXPECT_TRUE(qp.start_stream(sockets.a, start_of()));
}

}  // namespace
}  // namespace softrnic::engine::test
