// Two queue pairs of one lane, and memory at both ends.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <numeric>

#include "tests/unit/rnic/fixture.h"

namespace softrnic::rnic::test {

constexpr int kEverything =
    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;

class TransferTest : public RnicTest {
 protected:
  void SetUp() override {
    RnicTest::SetUp();
    std::iota(from.begin(), from.end(), std::uint8_t{1});
    from_mr = make_mr(from.data(), from.size(), kEverything);
    to_mr = make_mr(to.data(), to.size(), kEverything);
    recv_cq = make_cq();
  }
  void TearDown() override {
    if (a) {
      EXPECT_TRUE(a->destroy());
    }
    if (b) {
      EXPECT_TRUE(b->destroy());
    }
    if (srq) {
      EXPECT_TRUE(srq->destroy());
    }
    EXPECT_TRUE(from_mr->destroy());
    EXPECT_TRUE(to_mr->destroy());
    EXPECT_TRUE(recv_cq->destroy());
    RnicTest::TearDown();
  }

  void connect(ibv_qp_type type, bool with_srq = false) {
    a = make_qp(type);
    QueuePairInit wanted = init(type);
    wanted.recv_cq = recv_cq.get();
    if (with_srq) srq = make_srq();
    wanted.srq = srq.get();
    b = make_qp(wanted);
    bring(*b, IBV_QPS_RTS, a->qpn());
    bring(*a, IBV_QPS_RTS, b->qpn());
  }
  void receive(std::uint64_t id, std::uint32_t length) {
    ibv_sge s{};
    ibv_recv_wr wr = recv_wr(id, to_mr.get(), to.data(), length, s);
    ibv_recv_wr* bad = nullptr;
    EXPECT_TRUE(srq ? srq->post(&wr, &bad) : b->post_recv(&wr, &bad));
  }
  ibv_send_wr request(ibv_wr_opcode opcode, std::uint32_t length) {
    ibv_send_wr wr = send_wr(opcode, from_mr.get(), from.data(), length, sge);
    wr.wr_id = 77;
    wr.wr.rdma.remote_addr = reinterpret_cast<std::uintptr_t>(to.data());
    wr.wr.rdma.rkey = to_mr->key().value;
    return wr;
  }
  ibv_wc run(ibv_send_wr wr) {
    ibv_send_wr* bad = nullptr;
    EXPECT_TRUE(a->post_send(&wr, &bad));
    return one(*cq);
  }
  ibv_wc one(CompletionQueue& queue) {
    const auto all = poll(queue);
    EXPECT_EQ(all.size(), 1U);
    return all.empty() ? ibv_wc{} : all.front();
  }
  bool arrived(std::size_t length) {
    return std::equal(from.begin(), from.begin() + static_cast<long>(length), to.begin());
  }

  alignas(8) std::array<std::uint8_t, 8192> from{};
  alignas(8) std::array<std::uint8_t, 8192> to{};
  ibv_sge sge{};
  std::unique_ptr<MemoryRegion> from_mr;
  std::unique_ptr<MemoryRegion> to_mr;
  std::unique_ptr<CompletionQueue> recv_cq;
  std::unique_ptr<SharedReceiveQueue> srq;
  std::unique_ptr<QueuePair> a;
  std::unique_ptr<QueuePair> b;
};

}  // namespace softrnic::rnic::test
