// Many threads on four lanes: objects shared across lanes, made and destroyed at once, by whichever thread.
#include <atomic>
#include <functional>
#include <thread>

#include "tests/abi/verbs_fixture.h"

namespace softrnic::robust {
namespace {

using namespace abi_test;

constexpr std::size_t kBytes = 3000;

void run_threads(unsigned count, const std::function<void(unsigned)>& body) {
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < count; ++i) threads.emplace_back(body, i);
  for (std::thread& thread : threads) thread.join();
}

class ThreadsTest : public VerbsTest {
 protected:
  CqPtr make_cq(int entries) const {
    return CqPtr(ibv_create_cq(context.get(), entries, nullptr, nullptr, 0));
  }
  QpPtr make_qp_on(ibv_cq* on, ibv_srq* srq = nullptr) const {
    ibv_qp_init_attr init = qp_init(IBV_QPT_RC);
    init.send_cq = init.recv_cq = on;
    init.srq = srq;
    return QpPtr(ibv_create_qp(pd.get(), &init));
  }
};

TEST_F(ThreadsTest, QueuePairsAreMadeUsedAndDestroyedByEightThreads) {
  run_threads(8, [this](unsigned self) {
    std::vector<std::uint8_t> memory(2 * kBytes);
    for (unsigned round = 0; round < 15; ++round) {
      const auto mr = make_mr(memory.data(), memory.size(), IBV_ACCESS_LOCAL_WRITE);
      const auto own = make_cq(64);
      const auto a = make_qp_on(own.get()), b = make_qp_on(own.get());
      ASSERT_TRUE(a && b);
      connect(a.get(), b.get());
      std::memset(memory.data(), static_cast<int>(16 * self + round), kBytes);
      std::memset(memory.data() + kBytes, 0xee, kBytes);
      ASSERT_EQ(post_recv(b.get(), 1, sge_of(memory.data() + kBytes, kBytes, mr.get())), 0);
      ASSERT_EQ(post_send(a.get(), 2, sge_of(memory.data(), kBytes, mr.get())), 0);
      for (const ibv_wc& wc : collect(own.get(), 2)) ASSERT_EQ(wc.status, IBV_WC_SUCCESS);
      ASSERT_EQ(std::memcmp(memory.data(), memory.data() + kBytes, kBytes), 0);
      // some go while packets are under way
      if (round % 3 == 0) {
        ASSERT_EQ(post_send(a.get(), 3, sge_of(memory.data(), kBytes, mr.get())), 0);
      }
    }
  });
}

TEST_F(ThreadsTest, OneCqOneSrqAndOneRegionServeAllLanes) {
  constexpr unsigned kPairs = 8, kEach = 40;
  constexpr unsigned kSlots = kPairs * kEach;
  struct Message {
    std::uint32_t pair, number, check[30];
  };
  std::vector<Message> memory(2 * kSlots);
  const auto mr = make_mr(memory.data(), memory.size() * sizeof(Message), IBV_ACCESS_LOCAL_WRITE);
  const auto sends = make_cq(2 * kSlots), receives = make_cq(2 * kSlots);
  ibv_srq_init_attr srq_init{};
  srq_init.attr = {.max_wr = kSlots, .max_sge = 1, .srq_limit = 0};
  const SrqPtr srq(ibv_create_srq(pd.get(), &srq_init));
  ASSERT_NE(srq, nullptr);
  for (unsigned slot = 0; slot < kSlots; ++slot) {
    ibv_sge sge = sge_of(&memory[slot], sizeof(Message), mr.get());
    ibv_recv_wr wr{}, *bad = nullptr;
    wr.wr_id = slot;
    wr.sg_list = &sge;
    wr.num_sge = 1;
    ASSERT_EQ(ibv_post_srq_recv(srq.get(), &wr, &bad), 0);
  }
  std::vector<QpPtr> from, to;
  for (unsigned i = 0; i < kPairs; ++i) {
    from.push_back(make_qp_on(sends.get()));
    to.push_back(make_qp_on(receives.get(), srq.get()));
    ASSERT_TRUE(from[i] && to[i]);
    connect(from[i].get(), to[i].get());
  }
  run_threads(4, [&](unsigned self) {
    for (unsigned number = 0; number < kEach; ++number) {
      for (unsigned pair = self; pair < kPairs; pair += 4) {
        Message& message = memory[kSlots + pair * kEach + number];
        message = {pair, number, {}};
        for (std::uint32_t& word : message.check) word = pair * 1000 + number;
        // ENOMEM: the queue is full; polling makes room
        const ibv_sge sge = sge_of(&message, sizeof message, mr.get());
        for (ibv_wc wc{}; post_send(from[pair].get(), number, sge) != 0;) {
          if (ibv_poll_cq(sends.get(), 1, &wc) == 1) {
            ASSERT_EQ(wc.status, IBV_WC_SUCCESS);
          }
        }
      }
    }
  });
  unsigned next[kPairs] = {};
  for (const ibv_wc& wc : collect(receives.get(), kSlots)) {
    ASSERT_EQ(wc.status, IBV_WC_SUCCESS);
    const Message& got = memory[wc.wr_id];
    ASSERT_LT(got.pair, kPairs);
    EXPECT_EQ(to[got.pair]->qp_num, wc.qp_num);
    EXPECT_EQ(got.number, next[got.pair]++) << "of pair " << got.pair;
    for (const std::uint32_t word : got.check) ASSERT_EQ(word, got.pair * 1000 + got.number);
  }
}

TEST_F(ThreadsTest, ObjectsAreDestroyedByAnotherThreadThanTheirMaker) {
  std::vector<std::uint8_t> memory(4096);
  for (unsigned round = 0; round < 10; ++round) {
    CqPtr own;
    MrPtr mr;
    std::vector<QpPtr> qps;
    std::thread([&] {
      own = make_cq(16);
      mr = make_mr(memory.data(), memory.size(), IBV_ACCESS_LOCAL_WRITE);
      for (unsigned i = 0; i < 8; ++i) qps.push_back(make_qp_on(own.get()));
      connect(qps[0].get(), qps[1].get());
      ASSERT_EQ(post_recv(qps[1].get(), 1, sge_of(memory.data(), 64, mr.get())), 0);
      ASSERT_EQ(post_send(qps[0].get(), 2, sge_of(memory.data() + 64, 64, mr.get())), 0);
    }).join();
    run_threads(4, [&](unsigned self) {
      qps[2 * self].reset();
      qps[2 * self + 1].reset();
    });
    std::thread([&] {
      mr.reset();
      own.reset();
    }).join();
  }
}

TEST_F(ThreadsTest, RegionsComeAndGoWhileDataFlows) {
  std::vector<std::uint8_t> memory(2 * kBytes);
  const auto mr = make_mr(memory.data(), memory.size(), IBV_ACCESS_LOCAL_WRITE);
  const auto a = make_qp(IBV_QPT_RC), b = make_qp(IBV_QPT_RC);
  connect(a.get(), b.get());
  std::atomic<bool> ending{false};
  std::thread registrar([&] {
    std::vector<std::uint8_t> other(65536);
    while (!ending) EXPECT_NE(make_mr(other.data(), other.size(), IBV_ACCESS_LOCAL_WRITE), nullptr);
  });
  for (unsigned number = 0; number < 300; ++number) {
    ASSERT_EQ(post_recv(b.get(), 1, sge_of(memory.data() + kBytes, kBytes, mr.get())), 0);
    ASSERT_EQ(post_send(a.get(), 2, sge_of(memory.data(), kBytes, mr.get())), 0);
    for (const ibv_wc& wc : collect(cq.get(), 2)) ASSERT_EQ(wc.status, IBV_WC_SUCCESS);
  }
  ending = true;
  registrar.join();
}

TEST(ThreadsWithoutDevice, EachOpensAndClosesADeviceOfItsOwn) {
  run_threads(8, [](unsigned) {
    for (unsigned round = 0; round < 10; ++round) {
      const ContextPtr own(open_first());
      ASSERT_NE(own, nullptr);
      const PdPtr pd(ibv_alloc_pd(own.get()));
      const CqPtr cq(ibv_create_cq(own.get(), 8, nullptr, nullptr, 0));
      ibv_qp_init_attr init{};
      init.send_cq = init.recv_cq = cq.get();
      init.cap = {
          .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = 0};
      init.qp_type = IBV_QPT_UD;
      const QpPtr qp(ibv_create_qp(pd.get(), &init));
      ASSERT_NE(qp, nullptr) << std::strerror(errno);
    }
  });
}

}  // namespace
}  // namespace softrnic::robust
