// Memory windows: what binds and invalidates do, when, and what peers may do through them (IBTA 10.6.7).
#include "rnic/memory_window.h"

#include <cerrno>

#include "base/reason_id.h"
#include "tests/unit/rnic/transfer_fixture.h"

namespace softrnic::rnic::test {
namespace {

constexpr std::uint32_t kAll = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;

/// What a program holds of a window.
struct Window : ibv_mw {
  Window(ProtectionDomain& domain, ibv_mw_type of_type) : ibv_mw{} {
    auto made = MemoryWindow::create(domain, of_type);
    impl = std::move(*made);
    rkey = impl->first_key().value;
    type = of_type;
  }
  ~Window() {
    if (impl) {
      EXPECT_TRUE(impl->destroy());
    }
  }
  std::unique_ptr<MemoryWindow> impl;
};

class MemoryWindowTest : public TransferTest {
 protected:
  void SetUp() override {
    TransferTest::SetUp();
    bindable = make_mr(to.data(), to.size(), IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
    verbs_mr.lkey = bindable->key().value;
  }
  void TearDown() override {
    if (bindable) {
      EXPECT_TRUE(bindable->destroy());
    }
    TransferTest::TearDown();
  }

  std::uint64_t place(std::size_t offset) const {
    return reinterpret_cast<std::uintptr_t>(to.data()) + offset;
  }
  /// Bytes [offset, offset + length) of `to`, under the next key.
  ibv_send_wr bind(Window& window, std::size_t offset, std::size_t length, std::uint32_t access = kAll) {
    ibv_send_wr wr{};
    wr.opcode = IBV_WR_BIND_MW;
    wr.wr_id = 55;
    wr.send_flags = IBV_SEND_SIGNALED;
    window.rkey = ibv_inc_rkey(window.rkey);
    wr.bind_mw = {&window, window.rkey, {&verbs_mr, place(offset), length, access}};
    return wr;
  }
  static ibv_send_wr invalidate(std::uint32_t key) {
    ibv_send_wr wr{};
    wr.opcode = IBV_WR_LOCAL_INV;
    wr.send_flags = IBV_SEND_SIGNALED;
    wr.invalidate_rkey = key;
    return wr;
  }
  int post(QueuePair& qp, ibv_send_wr wr) {
    ibv_send_wr* bad = nullptr;
    return error_of(qp.post_send(&wr, &bad));
  }
  /// Of the only completion.
  ibv_wc_status by(QueuePair& qp, ibv_send_wr wr) {
    EXPECT_EQ(post(qp, wr), 0);
    return one(*cq).status;
  }
  /// `a` writes by the key.
  ibv_send_wr write(std::uint32_t key, std::uint64_t address, std::uint32_t length) {
    auto wr = request(IBV_WR_RDMA_WRITE, length);
    wr.wr.rdma = {address, key};
    return wr;
  }
  ibv_send_wr invalidating(const Window& window) {
    auto wr = request(IBV_WR_SEND_WITH_INV, 8);
    wr.invalidate_rkey = window.rkey;
    return wr;
  }
  void reconnect() {
    EXPECT_TRUE(a->destroy());
    EXPECT_TRUE(b->destroy());
    connect(IBV_QPT_RC);
  }

  std::unique_ptr<MemoryRegion> bindable;
  ibv_mr verbs_mr{};
};

TEST_F(MemoryWindowTest, OpensAPartOfARegionToPeers) {
  for (const ibv_mw_type type : {IBV_MW_TYPE_1, IBV_MW_TYPE_2}) {
    connect(IBV_QPT_RC);
    Window window(*pd, type);
    EXPECT_EQ(by(*b, bind(window, 1024, 2048)), IBV_WC_SUCCESS);
    EXPECT_EQ(by(*a, write(window.rkey, place(1024), 2048)), IBV_WC_SUCCESS);
    EXPECT_TRUE(std::equal(from.begin(), from.begin() + 2048, to.begin() + 1024));
    EXPECT_EQ(by(*a, write(window.rkey, place(1023), 2)), IBV_WC_REM_ACCESS_ERR);
    reconnect();
    if (type == IBV_MW_TYPE_1) {
      EXPECT_EQ(by(*a, write(window.rkey, place(3071), 2)), IBV_WC_REM_ACCESS_ERR) << "past its end";
      reconnect();
      EXPECT_EQ(by(*a, write(window.rkey, place(3071), 1)), IBV_WC_SUCCESS) << "any QP of the PD";
    } else {
      EXPECT_EQ(by(*a, write(window.rkey, place(1024), 1)), IBV_WC_REM_ACCESS_ERR) << "another QP";
    }
    EXPECT_TRUE(a->destroy() && b->destroy());
    a.reset();
    b.reset();
  }
}

TEST_F(MemoryWindowTest, AllowsNoMoreThanItsAccess) {
  connect(IBV_QPT_RC);
  Window window(*pd, IBV_MW_TYPE_1);
  EXPECT_EQ(by(*b, bind(window, 0, 64, IBV_ACCESS_REMOTE_READ)), IBV_WC_SUCCESS);
  auto read = request(IBV_WR_RDMA_READ, 64);
  read.wr.rdma = {place(0), window.rkey};
  EXPECT_EQ(by(*a, read), IBV_WC_SUCCESS);
  EXPECT_EQ(by(*a, write(window.rkey, place(0), 8)), IBV_WC_REM_ACCESS_ERR);
  reconnect();
  EXPECT_EQ(by(*a, write(bindable->key().value, place(0), 8)), IBV_WC_REM_ACCESS_ERR) << "nor the region";
}

TEST_F(MemoryWindowTest, CompletesLikeOtherWorkRequests) {
  connect(IBV_QPT_UC);
  Window window(*pd, IBV_MW_TYPE_2);
  EXPECT_EQ(post(*b, bind(window, 0, 64)), 0);
  const ibv_wc bound = one(*cq);
  EXPECT_EQ(bound.opcode, IBV_WC_BIND_MW);
  EXPECT_EQ(bound.wr_id, 55U);
  auto quiet = invalidate(window.rkey);
  quiet.send_flags = 0;
  EXPECT_EQ(post(*b, quiet), 0);
  EXPECT_TRUE(poll(*cq).empty());
  EXPECT_EQ(post(*b, bind(window, 0, 64)), 0) << "it was free again";
  EXPECT_EQ(one(*cq).status, IBV_WC_SUCCESS);
  EXPECT_EQ(post(*b, invalidate(window.rkey)), 0);
  EXPECT_EQ(one(*cq).opcode, IBV_WC_LOCAL_INV);
}

TEST_F(MemoryWindowTest, OfType1IsBoundAgainAndUnbound) {
  connect(IBV_QPT_RC);
  Window window(*pd, IBV_MW_TYPE_1);
  EXPECT_EQ(by(*b, bind(window, 0, 64)), IBV_WC_SUCCESS);
  const std::uint32_t old = window.rkey;
  EXPECT_EQ(by(*b, bind(window, 64, 64)), IBV_WC_SUCCESS);
  EXPECT_EQ(by(*a, write(window.rkey, place(64), 64)), IBV_WC_SUCCESS);
  EXPECT_EQ(by(*a, write(old, place(64), 64)), IBV_WC_REM_ACCESS_ERR);
  reconnect();
  auto unbind = bind(window, 0, 0);
  unbind.bind_mw.bind_info = {};
  EXPECT_EQ(by(*b, unbind), IBV_WC_SUCCESS);
  EXPECT_EQ(by(*a, write(window.rkey, place(64), 1)), IBV_WC_REM_ACCESS_ERR);
  EXPECT_TRUE(bindable->destroy()) << "nothing is bound to it";
  bindable.reset();
}

TEST_F(MemoryWindowTest, OfType2CanBeZeroBased) {
  connect(IBV_QPT_RC);
  Window window(*pd, IBV_MW_TYPE_2);
  EXPECT_EQ(by(*b, bind(window, 512, 64, kAll | IBV_ACCESS_ZERO_BASED)), IBV_WC_SUCCESS);
  EXPECT_EQ(by(*a, write(window.rkey, 8, 56)), IBV_WC_SUCCESS);
  EXPECT_TRUE(std::equal(from.begin(), from.begin() + 56, to.begin() + 520));
  EXPECT_EQ(by(*a, write(window.rkey, 8, 57)), IBV_WC_REM_ACCESS_ERR);
}

// The index is the adapter's: of the key that is asked for counts the tag.
TEST_F(MemoryWindowTest, OfType2TakesTheTagOfAnyKey) {
  connect(IBV_QPT_RC);
  Window window(*pd, IBV_MW_TYPE_2), other(*pd, IBV_MW_TYPE_2);
  const std::uint32_t before = window.rkey;
  for (Window* const each : {&window, &other}) {
    auto wr = bind(*each, 0, 64);
    wr.bind_mw.rkey = 0xba;
    EXPECT_EQ(by(*b, wr), IBV_WC_SUCCESS);
    EXPECT_EQ(each->rkey & 0xff, 0xbaU);
  }
  EXPECT_EQ(window.rkey >> 8, before >> 8);
  EXPECT_NE(window.rkey, other.rkey);
  EXPECT_EQ(by(*a, write(window.rkey, place(0), 64)), IBV_WC_SUCCESS);
  EXPECT_EQ(by(*a, write(other.rkey, place(0), 64)), IBV_WC_SUCCESS);
  EXPECT_EQ(by(*a, write(0xba, place(0), 1)), IBV_WC_REM_ACCESS_ERR);
}

// A window of type 2B belongs to the queue pair that bound it, for the program too.
TEST_F(MemoryWindowTest, IsInvalidatedByItsQueuePairAlone) {
  connect(IBV_QPT_RC);
  Window window(*pd, IBV_MW_TYPE_2);
  EXPECT_EQ(by(*b, bind(window, 0, 64)), IBV_WC_SUCCESS);
  EXPECT_EQ(post(*a, invalidate(window.rkey)), 0);
  const ibv_wc failed = one(*cq);
  EXPECT_EQ(failed.status, IBV_WC_MW_BIND_ERR);
  EXPECT_EQ(failed.vendor_err, static_cast<std::uint32_t>(ReasonId::nak_window_other_qp));
  EXPECT_EQ(state_of(*a), IBV_QPS_ERR);
  EXPECT_EQ(by(*b, invalidate(window.rkey)), IBV_WC_SUCCESS) << "it was still bound";
  EXPECT_EQ(post(*b, invalidate(window.rkey)), 0);
  const ibv_wc again = one(*cq);
  EXPECT_EQ(again.status, IBV_WC_MW_BIND_ERR) << "there is nothing to take away";
  EXPECT_EQ(again.vendor_err, static_cast<std::uint32_t>(ReasonId::no_such_window));
}

TEST_F(MemoryWindowTest, IsInvalidatedByThePeer) {
  connect(IBV_QPT_RC);
  Window window(*pd, IBV_MW_TYPE_2);
  EXPECT_EQ(by(*b, bind(window, 0, 64)), IBV_WC_SUCCESS);
  receive(3, 64);
  const auto wr = invalidating(window);
  EXPECT_EQ(by(*a, wr), IBV_WC_SUCCESS);
  const ibv_wc got = one(*recv_cq);
  EXPECT_EQ(got.wc_flags, unsigned{IBV_WC_WITH_INV});
  EXPECT_EQ(got.invalidated_rkey, window.rkey);
  EXPECT_EQ(by(*a, write(window.rkey, place(0), 1)), IBV_WC_REM_ACCESS_ERR);
}

TEST_F(MemoryWindowTest, IsNotInvalidatedByStrangers) {
  for (const ibv_mw_type type : {IBV_MW_TYPE_1, IBV_MW_TYPE_2}) {
    connect(IBV_QPT_RC);
    Window window(*pd, type);
    // through `a`, so that the window of type 2 is not the one of the QP that receives
    EXPECT_EQ(by(*a, bind(window, 0, 64)), IBV_WC_SUCCESS);
    receive(3, 64);
    const auto wr = invalidating(window);
    EXPECT_NE(by(*a, wr), IBV_WC_SUCCESS);
    EXPECT_TRUE(a->destroy() && b->destroy());
    EXPECT_EQ(bindable->destroy().error().error, EBUSY) << "still bound";
    a.reset();
    b.reset();
    poll(*recv_cq);
  }
}

TEST_F(MemoryWindowTest, RefusesBinds) {
  auto plain = make_mr(to.data(), to.size(), IBV_ACCESS_LOCAL_WRITE);
  auto readable = make_mr(to.data(), to.size(), IBV_ACCESS_MW_BIND);
  auto zero_based =
      make_mr(to.data(), to.size(), IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND | IBV_ACCESS_ZERO_BASED);
  auto made = ProtectionDomain::create(context);
  const auto other_pd = std::move(*made);
  {
    Window foreign(*other_pd, IBV_MW_TYPE_1);
    Window window(*pd, IBV_MW_TYPE_2);
    const auto expect = [&](ibv_send_wr wr, ReasonId why) {
      connect(IBV_QPT_RC);
      EXPECT_EQ(post(*b, wr), 0);
      const ibv_wc failed = one(*cq);
      EXPECT_EQ(failed.status, IBV_WC_MW_BIND_ERR);
      EXPECT_EQ(failed.vendor_err, static_cast<std::uint32_t>(why));
      EXPECT_EQ(state_of(*b), IBV_QPS_ERR);
      EXPECT_TRUE(a->destroy() && b->destroy());
      a.reset();
      b.reset();
    };
    const auto of = [&](const MemoryRegion& region, std::uint32_t access) {
      verbs_mr.lkey = region.key().value;
      return bind(window, 0, 64, access);
    };
    expect(of(*plain, IBV_ACCESS_REMOTE_READ), ReasonId::window_region_access);
    expect(of(*readable, IBV_ACCESS_REMOTE_WRITE), ReasonId::window_region_access);
    expect(of(*readable, IBV_ACCESS_REMOTE_ATOMIC), ReasonId::window_region_access);
    expect(of(*zero_based, IBV_ACCESS_REMOTE_READ), ReasonId::window_region_access);
    verbs_mr.lkey = bindable->key().value;
    expect(bind(window, to.size() - 63, 64), ReasonId::lkey_range);
    expect(bind(window, 0, ~std::size_t{0}), ReasonId::lkey_range);
    expect(bind(window, std::size_t{0} - 1, 64), ReasonId::lkey_range);
    expect(bind(window, 0, 0), ReasonId::window_without_length);
    expect(bind(foreign, 0, 64), ReasonId::window_other_pd);
    verbs_mr.lkey = 0xdead00;
    expect(bind(window, 0, 64), ReasonId::lkey_unknown);
    verbs_mr.lkey = window.rkey;
    expect(bind(window, 0, 64), ReasonId::lkey_unknown);
    verbs_mr.lkey = bindable->key().value;
    connect(IBV_QPT_RC);
    EXPECT_EQ(by(*b, bind(window, 0, 64)), IBV_WC_SUCCESS);
    EXPECT_TRUE(a->destroy() && b->destroy());
    expect(bind(window, 0, 64), ReasonId::window_bound);
    expect(invalidate(bindable->key().value), ReasonId::invalidate_region);
    expect(invalidate(window.rkey + 77), ReasonId::no_such_window);
    expect(invalidate(foreign.rkey), ReasonId::no_such_window);
  }
  for (auto* mr : {&plain, &readable, &zero_based}) EXPECT_TRUE((*mr)->destroy());
  EXPECT_TRUE(other_pd->destroy());
}

TEST_F(MemoryWindowTest, RefusesAtThePostWhatCannotBe) {
  connect(IBV_QPT_RC);
  Window first(*pd, IBV_MW_TYPE_1), second(*pd, IBV_MW_TYPE_2);
  EXPECT_EQ(post(*b, bind(first, 0, 64, IBV_ACCESS_ZERO_BASED)), EINVAL);
  EXPECT_EQ(post(*b, bind(first, 0, 64, IBV_ACCESS_HUGETLB)), EINVAL);
  auto wr = bind(second, 0, 64);
  wr.bind_mw.bind_info.mr = nullptr;
  EXPECT_EQ(post(*b, wr), EINVAL);
  wr.bind_mw.mw = nullptr;
  EXPECT_EQ(post(*b, wr), EINVAL);
  wr = invalidate(second.rkey);
  wr.send_flags |= IBV_SEND_INLINE;
  EXPECT_EQ(post(*b, wr), EINVAL);
  EXPECT_TRUE(poll(*cq).empty());
  EXPECT_EQ(error_of(MemoryWindow::create(*pd, static_cast<ibv_mw_type>(3))), EINVAL);
}

// What was posted before is done, what was posted behind it has not begun.
TEST_F(MemoryWindowTest, ChangesInItsTurn) {
  connect(IBV_QPT_RC);
  Window window(*pd, IBV_MW_TYPE_2);
  EXPECT_EQ(by(*b, bind(window, 0, 64)), IBV_WC_SUCCESS);
  lanes.lane.hold_packets = true;
  auto send = request(IBV_WR_RDMA_WRITE, 8);
  send.wr.rdma = {reinterpret_cast<std::uintptr_t>(from.data() + 4096), from_mr->key().value};
  EXPECT_EQ(post(*b, send), 0);
  EXPECT_EQ(post(*b, invalidate(window.rkey)), 0);
  EXPECT_EQ(post(*b, send), 0);
  EXPECT_EQ(lanes.lane.headers_sent.size(), 1U) << "the second WRITE waits for its turn";
  EXPECT_TRUE(poll(*cq).empty());
  EXPECT_TRUE(KeyTable::process().remote(pd.get(), MemoryKey(window.rkey), place(0), 1,
                                         IBV_ACCESS_REMOTE_READ, b->serial()));
  lanes.lane.release();
  const auto all = poll(*cq);
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0].opcode, IBV_WC_RDMA_WRITE);
  EXPECT_EQ(all[1].opcode, IBV_WC_LOCAL_INV);
  EXPECT_EQ(all[2].opcode, IBV_WC_RDMA_WRITE);
  for (const ibv_wc& wc : all) EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
}

TEST_F(MemoryWindowTest, IsFlushedInError) {
  connect(IBV_QPT_RC);
  Window window(*pd, IBV_MW_TYPE_2);
  lanes.lane.hold_packets = true;
  EXPECT_EQ(post(*a, request(IBV_WR_RDMA_WRITE, 8)), 0);
  EXPECT_EQ(post(*a, bind(window, 0, 64)), 0);
  ibv_qp_attr to_error{};
  to_error.qp_state = IBV_QPS_ERR;
  EXPECT_TRUE(a->modify(to_error, IBV_QP_STATE));
  const auto all = poll(*cq);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[1].status, IBV_WC_WR_FLUSH_ERR);
  EXPECT_EQ(by(*a, bind(window, 0, 64)), IBV_WC_WR_FLUSH_ERR);
  EXPECT_TRUE(bindable->destroy()) << "it was never bound";
  bindable.reset();
}

TEST_F(MemoryWindowTest, KeepsItsRegionAndItsDomain) {
  connect(IBV_QPT_RC);
  auto window = std::make_unique<Window>(*pd, IBV_MW_TYPE_2);
  EXPECT_EQ(by(*b, bind(*window, 0, 64)), IBV_WC_SUCCESS);
  EXPECT_EQ(error_of(bindable->destroy()), EBUSY);
  EXPECT_EQ(error_of(bindable->reregister(IBV_REREG_MR_CHANGE_ACCESS, nullptr, {})), EBUSY);
  EXPECT_EQ(error_of(pd->destroy()), EBUSY);
  const std::uint32_t key = window->rkey;
  window.reset();  // a bound one can be deallocated
  EXPECT_EQ(by(*a, write(key, place(0), 1)), IBV_WC_REM_ACCESS_ERR);
  EXPECT_TRUE(bindable->destroy());
  bindable.reset();
}

}  // namespace
}  // namespace softrnic::rnic::test
