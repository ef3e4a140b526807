// The whole adapter in one or two processes over loopback: daemon, lanes, threads, fork.
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>

#include <algorithm>
#include <numeric>

#include "base/clock.h"
#include "base/reason_id.h"
#include "tests/support/fork_at_rest.h"
#include "tests/unit/engine/adapter_fixture.h"

namespace softrnic::engine::test {
namespace {

void fill(Node& node, std::uint8_t seed) {
  for (std::size_t i = 0; i < node.memory.size(); ++i) {
    node.memory[i] = static_cast<std::uint8_t>(i * 7 + (i >> 8) + seed);
  }
}

TEST(Adapter, TwoQueuePairsOfOneLaneTalk) {
  in_namespace([] {
    Node a;
    Node b;
    if (!meet(a, b)) return;
    fill(a, 1);
    b.receive(0, 70'000);
    a.post(IBV_WR_SEND, 0, 70'000, b.address());
    a.complete();
    EXPECT_EQ(b.complete().byte_len, 70'000U);
    EXPECT_TRUE(std::equal(a.memory.begin(), a.memory.begin() + 70'000, b.memory.begin()));
    a.post(IBV_WR_RDMA_WRITE, 0, Node::kBuffer, b.address());
    a.complete();
    EXPECT_EQ(a.memory, b.memory);
    fill(b, 9);
    a.post(IBV_WR_RDMA_READ, 0, Node::kBuffer, b.address());
    a.complete();
    EXPECT_EQ(a.memory, b.memory);
    a.destroy();
    b.destroy();
  });
}

/// WRITEs until one goes without packets, which takes a moment: the lane asks for its local
/// peers when they connect.
void write_until_direct(Node& node, const Address& peer) {
  const TimePoint limit = monotonic_now() + std::chrono::seconds(20);
  while (counted(node, ib::Counter::direct_messages) == 0 && monotonic_now() < limit) {
    node.post(IBV_WR_RDMA_WRITE, 0, 8, peer);
    node.complete();
  }
}

TEST(Adapter, OneSidedOperationsOnThisHostNeedNoPackets) {
  for (const ibv_qp_type type : {IBV_QPT_RC, IBV_QPT_UC}) {
    in_namespace([type] {
      Node a(type);
      Node b(type);
      if (!meet(a, b)) return;
      write_until_direct(a, b.address());
      const std::uint64_t packets = counted(a, ib::Counter::tx_packets);
      fill(a, 1);
      a.post(IBV_WR_RDMA_WRITE, 0, Node::kBuffer, b.address());
      a.complete();
      EXPECT_EQ(a.memory, b.memory);
      if (type == IBV_QPT_RC) {
        fill(b, 9);
        a.post(IBV_WR_RDMA_READ, 0, Node::kBuffer, b.address());
        a.complete();
        EXPECT_EQ(a.memory, b.memory);
      }
      EXPECT_EQ(counted(a, ib::Counter::tx_packets), packets);
      EXPECT_EQ(counted(b, ib::Counter::rx_packets), packets);
      // in turn with packets
      b.receive(0, 100);
      a.post(IBV_WR_SEND, 0, 100, b.address());
      a.complete();
      b.complete();
      a.post(IBV_WR_RDMA_WRITE, 0, 100, b.address());
      a.complete();
      a.destroy();
      b.destroy();
    });
  }
}

// IBTA C9-88: without a key, too.
TEST(Adapter, EmptyRequestsOnThisHostNeedNoPackets) {
  for (const ibv_qp_type type : {IBV_QPT_RC, IBV_QPT_UC}) {
    in_namespace([type] {
      Node a(type);
      Node b(type);
      if (!meet(a, b)) return;
      Address to = b.address();
      write_until_direct(a, to);
      const std::uint64_t packets = counted(a, ib::Counter::tx_packets);
      const std::uint64_t messages = counted(a, ib::Counter::direct_messages);
      for (const std::uint32_t key : {to.rkey, 0U}) {
        to.rkey = key;
        a.post(IBV_WR_RDMA_WRITE, 0, 0, to);
        a.complete();
        a.post(type == IBV_QPT_RC ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE, 0, 0, to);
        a.complete();
      }
      EXPECT_EQ(counted(a, ib::Counter::tx_packets), packets);
      EXPECT_EQ(counted(a, ib::Counter::direct_messages), messages + 4);
      a.destroy();
      b.destroy();
    });
  }
}

TEST(Adapter, EmptyRequestsNeedAPeerThatTakesThem) {
  for (const ibv_qp_state state : {IBV_QPS_RESET, IBV_QPS_ERR}) {
    in_namespace([state] {
      Node a;
      Node b;
      a.timeout = 8;  // 1 ms to the first retry
      if (!meet(a, b)) return;
      write_until_direct(a, b.address());
      a.post(IBV_WR_RDMA_WRITE, 0, 0, b.address());
      a.complete();
      ibv_qp_attr attr{};
      attr.qp_state = state;
      EXPECT_TRUE(b.qp->modify(attr, IBV_QP_STATE));
      a.post(IBV_WR_RDMA_WRITE, 0, 0, b.address());
      EXPECT_EQ(a.next_completion().status, IBV_WC_RETRY_EXC_ERR);
      a.destroy();
      b.destroy();
    });
  }
}

TEST(Adapter, WhatTheDirectPathRefusesFailsAsOnTheWire) {
  in_namespace([] {
    Node a;
    Node b;
    if (!meet(a, b)) return;
    write_until_direct(a, b.address());
    EXPECT_TRUE(b.mr->destroy());
    a.post(IBV_WR_RDMA_WRITE, 0, 100, b.address());
    const ibv_wc wc = a.next_completion();
    EXPECT_EQ(wc.status, IBV_WC_REM_ACCESS_ERR);
    EXPECT_EQ(static_cast<ReasonId>(wc.vendor_err), ReasonId::got_nak_access);
    EXPECT_EQ(b.qp->explained()->latest().reason.id, ReasonId::nak_rkey_unknown);
    b.mr = std::move(*rnic::MemoryRegion::create(*b.pd, {b.memory.data(), 8, 0, 0}));
    a.destroy();
    b.destroy();
  });
}

// Though the messages before it went direct to the same region.
TEST(Adapter, WhatThePeerTakesAwayIsGoneForTheNextMessage) {
  in_namespace([] {
    Node a;
    Node b;
    if (!meet(a, b)) return;
    write_until_direct(a, b.address());
    for (int i = 0; i < 3; ++i) {
      a.post(IBV_WR_RDMA_WRITE, 0, 8, b.address());
      a.complete();
    }
    ibv_qp_attr attr{};
    attr.qp_access_flags = IBV_ACCESS_REMOTE_READ;
    EXPECT_TRUE(b.qp->modify(attr, IBV_QP_ACCESS_FLAGS));
    fill(a, 1);
    fill(b, 2);
    const auto before = b.memory;
    a.post(IBV_WR_RDMA_WRITE, 0, 100, b.address());
    const ibv_wc wc = a.next_completion();
    EXPECT_EQ(wc.status, IBV_WC_REM_INV_REQ_ERR);
    EXPECT_EQ(b.memory, before);
    a.destroy();
    b.destroy();
  });
}

TEST(Adapter, AUcMessageWaitsForItsReceive) {
  in_namespace([] {
    Node a(IBV_QPT_UC);
    Node b(IBV_QPT_UC);
    if (!meet(a, b)) return;
    fill(a, 1);
    a.post(IBV_WR_SEND, 0, 70'000, b.address());
    a.complete();
    ibv_wc none;
    EXPECT_EQ(b.cq->poll(1, &none), 0);  // reads what has come
    b.receive(0, 70'000);
    EXPECT_EQ(b.complete().byte_len, 70'000U);
    EXPECT_TRUE(std::equal(a.memory.begin(), a.memory.begin() + 70'000, b.memory.begin()));
    a.destroy();
    b.destroy();
  });
}

// The lane is not held up for ever: after its patience the first message is lost, and
// those that follow at once.
TEST(Adapter, AUcMessageThatGetsNoReceiveIsDroppedInTheEnd) {
  in_namespace([] {
    Node a(IBV_QPT_UC);
    Node b(IBV_QPT_UC);
    if (!meet(a, b)) return;
    const auto drops = [&b] {
      const std::lock_guard lock(b.qp->lane().mutex());
      return b.qp->counters()[ib::Counter::drop_no_receive];
    };
    a.post(IBV_WR_SEND, 0, 5000, b.address());
    a.post(IBV_WR_SEND, 0, 5000, b.address());
    a.complete();
    a.complete();
    const TimePoint limit = monotonic_now() + std::chrono::seconds(20);
    ibv_wc none;
    while (drops() < 2 && monotonic_now() < limit) EXPECT_EQ(b.cq->poll(1, &none), 0);
    EXPECT_EQ(drops(), 2U);
    b.receive(0, 1000);
    a.post(IBV_WR_SEND, 0, 300, b.address());
    a.complete();
    EXPECT_EQ(b.complete().byte_len, 300U);
    a.destroy();
    b.destroy();
  });
}

TEST(Adapter, TwoProcessesPlayPingPong) {
  in_namespace([] {
    constexpr int kRounds = 2000;
    const auto body = [](bool begin) {
      return [begin](Node& node, const Address& peer, int) {
        for (int i = 0; i < 32; ++i) node.receive(0, 4096);
        if (begin) node.post(IBV_WR_SEND, 0, 4096, peer);
        for (int received = 0, sent = begin ? 1 : 0; received < kRounds || sent > 0;) {
          const ibv_wc wc = node.complete();
          if (wc.status != IBV_WC_SUCCESS) return;
          if (wc.opcode == IBV_WC_SEND) {
            --sent;
            continue;
          }
          ++received;
          node.receive(0, 4096);
          if (begin && received == kRounds) continue;
          node.post(IBV_WR_SEND, 0, 4096, peer);
          ++sent;
        }
      };
    };
    two_processes(body(true), body(false));
  });
}

TEST(Adapter, ATargetThatSleepsIsWrittenToAndReadFrom) {
  in_namespace([] {
    two_processes(
        [](Node& node, const Address& peer, int fd) {
          fill(node, 3);
          for (int i = 0; i < 10; ++i) {
            node.post(IBV_WR_RDMA_WRITE, 0, Node::kBuffer, peer);
            node.complete();
          }
          const auto sent = node.memory;
          std::fill(node.memory.begin(), node.memory.end(), std::uint8_t{0});
          node.post(IBV_WR_RDMA_READ, 0, Node::kBuffer, peer);
          node.complete();
          EXPECT_EQ(node.memory, sent);
          char done = 1;
          EXPECT_EQ(write(fd, &done, 1), 1);
        },
        [](Node&, const Address&, int fd) {
          char done = 0;
          EXPECT_EQ(read(fd, &done, 1), 1);  // no verb is called meanwhile
        });
  });
}

// Its sends complete at once, so ibv_poll_cq never drives the lane; others on it must be served all the same.
TEST(Adapter, AProgramThatOnlyPostsDoesNotStarveOtherQueuePairs) {
  in_namespace([] {
    Node poster, its_peer, sender, receiver;
    if (!poster.ready() || !its_peer.ready() || !sender.ready() || !receiver.ready()) return;
    poster.connect(its_peer.address());
    its_peer.connect(poster.address());
    sender.connect(receiver.address());
    receiver.connect(sender.address());
    const Address to = its_peer.address();
    const auto post_one = [&] {
      poster.post(IBV_WR_RDMA_WRITE, 0, 8, to);
      poster.complete();
    };
    for (int i = 0; i < 20'000; ++i) post_one();  // by now they go direct, and the engine thread has seen us
    for (std::uint8_t round = 1; round <= 20; ++round) {
      sender.memory[0] = round;
      receiver.receive(0, 1);
      sender.post(IBV_WR_SEND, 0, 1, receiver.address());
      const TimePoint limit = monotonic_now() + std::chrono::seconds(20);
      while (__atomic_load_n(&receiver.memory[0], __ATOMIC_ACQUIRE) != round && monotonic_now() < limit)
        post_one();
      ASSERT_EQ(receiver.memory[0], round) << "nobody reads the lane's socket";
      sender.complete();
      receiver.complete();
    }
    for (Node* node : {&poster, &its_peer, &sender, &receiver}) node->destroy();
  });
}

TEST(Adapter, AForkedChildForgetsItsParentsAdapter) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "a thread sanitizer does not allow threads in the child of a process with threads";
#endif
  in_namespace([] {
    Node a;
    Node b;
    if (!meet(a, b)) return;
    const pid_t child = softrnic::test::fork_at_rest();
    if (child == 0) {
      alarm(30);
      rnic::QueuePairInit init;
      init.send_cq = init.recv_cq = a.cq.get();
      const auto refused = rnic::QueuePair::create(*a.pd, init);
      EXPECT_FALSE(refused);
      if (!refused) {
        EXPECT_EQ(refused.error().reason.id, ReasonId::forked_child);
      }
      ibv_wc wc;
      EXPECT_EQ(a.cq->poll(1, &wc), 0);
      Node own;
      EXPECT_TRUE(own.ready());
      if (own.ready()) {
        EXPECT_NE(own.qp->qpn().lane(), a.qp->qpn().lane());
      }
      own.destroy();
      a.destroy();
      b.destroy();
      _exit(testing::Test::HasFailure() ? 1 : 0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    fill(a, 5);
    a.post(IBV_WR_RDMA_WRITE, 0, Node::kBuffer, b.address());
    a.complete();
    EXPECT_EQ(a.memory, b.memory);
    a.destroy();
    b.destroy();
  });
}

// No route leads there, which the kernel counts each time.
TEST(Adapter, WhatTheKernelDroppedWhileAPeerWasSilentIsExplained) {
  in_namespace([] {
    Node node;
    if (!node.ready()) return;
    Address nowhere = node.address();
    nowhere.gid = wire::Gid::from_ipv4_be(htonl(0xcb007101));  // 203.0.113.1
    node.connect(nowhere);
    node.post(IBV_WR_RDMA_WRITE, 0, 64, nowhere);
    EXPECT_EQ(node.next_completion().status, IBV_WC_RETRY_EXC_ERR);
    const Reason* dropped = nullptr;
    ASSERT_NE(node.qp->explained(), nullptr);
    for (const auto& entry : node.qp->explained()->entries())
      if (entry.latest.reason.id == ReasonId::kernel_dropped) dropped = &entry.latest.reason;
    ASSERT_NE(dropped, nullptr);
    EXPECT_EQ(dropped->figures[0], static_cast<std::uint64_t>(KernelDrop::ip_no_route));
    EXPECT_GE(dropped->figures[1], 7U);
    node.destroy();
  });
}

TEST(Adapter, DataGoesOnWithoutTheDaemonAndTheNextCallSaysSo) {
  in_namespace([] {
    Node a;
    Node b;
    if (!meet(a, b)) return;
    auto client = control::Client::connect();
    ASSERT_TRUE(client);
    ASSERT_TRUE((*client)->shutdown());
    client->reset();
    fill(a, 6);
    a.post(IBV_WR_RDMA_WRITE, 0, Node::kBuffer, b.address());
    a.complete();
    EXPECT_EQ(a.memory, b.memory);
    const auto devices = Adapter::instance().devices();
    ASSERT_FALSE(devices);
    EXPECT_EQ(devices.error().failure.reason.id, ReasonId::daemon_gone);
    const auto event = a.context->events().get();
    ASSERT_TRUE(event);
    EXPECT_EQ(event->type, IBV_EVENT_DEVICE_FATAL);
    a.destroy();
    b.destroy();
    Node again;  // the last context was closed: a new daemon is started
    EXPECT_TRUE(again.ready());
    again.destroy();
  });
}

}  // namespace
}  // namespace softrnic::engine::test
