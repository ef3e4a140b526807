// Memory runs out while packets come and go.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

#include "engine/lane.h"
#include "tests/unit/engine/adapter_fixture.h"

namespace {

std::atomic<bool> memory_is_out{false};
std::atomic<int> refusals{0};
std::atomic<int> left{-1};  ///< allocations until memory is out; negative: no end

}  // namespace

// The whole test program allocates through these.
[[gnu::noinline]] void* operator new(std::size_t size) {
  const bool used_up = left.load(std::memory_order_relaxed) >= 0 && left.fetch_sub(1) <= 0;
  if (used_up) left = 0;
  if (used_up || memory_is_out.load(std::memory_order_relaxed)) {
    refusals.fetch_add(1, std::memory_order_relaxed);
    throw std::bad_alloc();
  }
  void* const memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  try {
    return operator new(size);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace softrnic::engine::test {
namespace {

/// While one lives, nothing is to be had.
struct NoMemory {
  NoMemory() { memory_is_out = true; }
  ~NoMemory() { memory_is_out = false; }
  NoMemory(const NoMemory&) = delete;
  NoMemory& operator=(const NoMemory&) = delete;
};

TEST(OutOfMemory, TheEngineThreadLivesAndNoCompletionIsLost) {
  in_namespace([] {
    Node a;
    Node b;
    if (!meet(a, b)) return;
    constexpr std::size_t kBytes = 70'000;
    std::fill_n(a.memory.begin(), kBytes, std::uint8_t{5});
    b.receive(0, kBytes);
    const Address to = b.address();
    bool arrived = false;
    {
      const NoMemory none;
      a.post(IBV_WR_SEND, 0, kBytes, to);
      // Nobody polls: all that is left to do is the engine thread's.
      const TimePoint limit = monotonic_now() + std::chrono::seconds(20);
      while ((!arrived || refusals.load() == 0) && monotonic_now() < limit) {
        arrived = __atomic_load_n(&b.memory[kBytes - 1], __ATOMIC_ACQUIRE) == 5;
      }
    }
    EXPECT_TRUE(arrived);
    EXPECT_GT(refusals.load(), 0);
    a.complete();
    EXPECT_EQ(b.complete().byte_len, kBytes);
    a.post(IBV_WR_RDMA_READ, 0, Node::kBuffer, to);
    a.complete();
    a.destroy();
    b.destroy();
  });
}

TEST(OutOfMemory, AllReceivesAreFlushedInOrder) {
  in_namespace([] {
    Node a;
    Node b;
    if (!a.ready() || !b.ready()) return;
    a.connect(b.address());
    constexpr int kReceives = 64;
    for (std::uint64_t i = 0; i < kReceives; ++i) {
      ibv_recv_wr wr{};
      ibv_recv_wr* bad = nullptr;
      wr.wr_id = i;
      EXPECT_TRUE(a.qp->post_recv(&wr, &bad));
    }
    bool modified = false;
    {
      const NoMemory none;
      ibv_qp_attr attr{};
      attr.qp_state = IBV_QPS_ERR;
      modified = a.qp->modify(attr, IBV_QP_STATE).has_value();
    }
    EXPECT_TRUE(modified);
    ibv_wc wc[kReceives + 1]{};
    EXPECT_EQ(a.cq->poll(kReceives + 1, wc), kReceives);
    for (int i = 0; i < kReceives; ++i) {
      EXPECT_EQ(wc[i].status, IBV_WC_WR_FLUSH_ERR);
      EXPECT_EQ(wc[i].wr_id, static_cast<std::uint64_t>(i));
    }
    a.destroy();
    b.destroy();
  });
}

bool has_address(const rnic::Context& context, const char* ipv6) {
  wire::Gid gid;
  inet_pton(AF_INET6, ipv6, gid.raw.data());
  const auto info = context.info();
  return std::ranges::any_of(info->port.gids,
                             [&](const device::GidEntry& entry) { return entry.gid == gid; });
}

// Seen first as the end of a program whose addresses changed while it had no memory.
TEST(OutOfMemory, ADeviceThatChangesMeanwhileIsKnownAfterwards) {
  in_namespace([] {
    Node a;
    if (!a.ready()) return;
    const TimePoint limit = monotonic_now() + std::chrono::seconds(20);
    int added = 0;
    const int before = refusals.load();
    {
      const NoMemory none;
      added = std::system("ip address add fd07::1/128 dev lo nodad");
      while (refusals.load() == before && monotonic_now() < limit) sched_yield();
    }
    EXPECT_EQ(added, 0);
    EXPECT_GT(refusals.load(), before);
    while (!has_address(*a.context, "fd07::1") && monotonic_now() < limit) sched_yield();
    EXPECT_TRUE(has_address(*a.context, "fd07::1"));
    a.destroy();
  });
}

/// Creates a queue pair, with memory for `allocations` only.
std::unique_ptr<rnic::QueuePair> create_with(int allocations, Node& node, rnic::QueuePairInit& init) {
  try {
    left = allocations;
    auto made = rnic::QueuePair::create(*node.pd, init);
    left = -1;
    return made ? std::move(*made) : nullptr;
  } catch (const std::bad_alloc&) {
    left = -1;
    return nullptr;
  }
}

TEST(OutOfMemory, AQueuePairThatCannotBeCreatedIsUnknownToItsLane) {
  in_namespace([] {
    Node a;
    if (!a.ready()) return;
    auto chosen = a.context->lanes().choose();
    ASSERT_TRUE(chosen);
    auto& lane = dynamic_cast<Lane&>(**chosen);
    rnic::QueuePairInit init;
    init.type = IBV_QPT_RC;
    init.send_cq = init.recv_cq = a.cq.get();
    init.cap.max_send_wr = init.cap.max_recv_wr = 1;
    // Enough of them for everything that grows with their number to grow.
    std::vector<std::unique_ptr<rnic::QueuePair>> made;
    while (made.size() < 40) {
      std::unique_ptr<rnic::QueuePair> qp;
      for (int allocations = 0; qp == nullptr; ++allocations) {
        const std::size_t before = lane.queue_pairs();
        qp = create_with(allocations, a, init);
        EXPECT_EQ(lane.queue_pairs(), before + (qp != nullptr ? 1 : 0)) << allocations;
      }
      made.push_back(std::move(qp));
    }
    for (auto& qp : made) EXPECT_TRUE(qp->destroy());
    made.clear();
    a.destroy();
  });
}

}  // namespace
}  // namespace softrnic::engine::test
