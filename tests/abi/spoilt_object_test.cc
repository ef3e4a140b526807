// What a program has written over its objects' handles, or their contexts: every call but post and poll
// answers ENOENT, as ib_uverbs does, touches nothing, and succeeds once the object is as it was.
#include <fcntl.h>

#include <functional>
#include <utility>

#include "tests/abi/verbs_fixture.h"

namespace softrnic::abi_test {
namespace {

using XrcdPtr = Owner<ibv_xrcd, ibv_close_xrcd>;
using MwPtr = Owner<ibv_mw, ibv_dealloc_mw>;
using DmPtr = Owner<ibv_dm, ibv_free_dm>;
using WqPtr = Owner<ibv_wq, ibv_destroy_wq>;
using TablePtr = Owner<ibv_rwq_ind_table, ibv_destroy_rwq_ind_table>;

/// Other bits, until it goes.
template <typename Field>
class Spoilt {
 public:
  explicit Spoilt(Field& field) : field_(field), original_(field) {
    field_ ^= static_cast<Field>(0xdeadbeef);
  }
  ~Spoilt() { field_ = original_; }
  Spoilt(const Spoilt&) = delete;
  Spoilt& operator=(const Spoilt&) = delete;

 private:
  Field& field_;
  Field original_;
};

class SpoiltObjectTest : public VerbsTest {
 protected:
  template <typename T>
  static void expect_no_such(T* made) {
    EXPECT_EQ(made, nullptr);
    EXPECT_EQ(errno, ENOENT);
  }
  static void expect_no_such(int answer) {
    EXPECT_EQ(answer, ENOENT);
    EXPECT_EQ(errno, ENOENT);
  }
  /// Each of `calls` finds no such object.
  template <typename Field, typename... Calls>
  static void expect_refused(Field& handle, const Calls&... calls) {
    const Spoilt spoilt(handle);
    const auto try_one = [](const auto& call) {
      errno = 0;
      expect_no_such(call());
    };
    (try_one(calls), ...);
  }

  char memory[64];
};

TEST_F(SpoiltObjectTest, ProtectionDomain) {
  ibv_qp_init_attr qp = qp_init(IBV_QPT_RC);
  ibv_srq_init_attr srq{};
  srq.attr = {1, 1, 0};
  ibv_ah_attr where = address();
  ibv_wq_init_attr wq = wq_init(cq.get(), 4);
  ibv_parent_domain_init_attr parent{};
  parent.pd = pd.get();
  MrPtr mr = make_mr(memory, sizeof memory, IBV_ACCESS_LOCAL_WRITE);
  ibv_alloc_dm_attr dm_wanted{};
  dm_wanted.length = 64;
  DmPtr dm(ibv_alloc_dm(context.get(), &dm_wanted));
  ASSERT_NE(dm, nullptr);
  ibv_wc wc{};
  ibv_sge range = sge_of(memory, sizeof memory, mr.get());
  ibv_pd* const own = pd.get();
  expect_refused(
      own->handle, [&] { return ibv_dealloc_pd(own); },
      [&] { return ibv_reg_mr(own, memory, sizeof memory, 0); }, [&] { return ibv_alloc_null_mr(own); },
      [&] { return ibv_reg_dm_mr(own, dm.get(), 0, 64, IBV_ACCESS_ZERO_BASED); },
      [&] { return ibv_import_mr(own, mr->handle); }, [&] { return ibv_alloc_mw(own, IBV_MW_TYPE_1); },
      [&] { return ibv_advise_mr(own, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &range, 1); },
      [&] { return ibv_create_qp(own, &qp); }, [&] { return make_extended(IBV_QPT_RC, 0).release(); },
      [&] { return ibv_create_srq(own, &srq); }, [&] { return ibv_create_ah(own, &where); },
      [&] { return ibv_create_ah_from_wc(own, &wc, nullptr, 1); },
      [&] { return ibv_create_wq(context.get(), &wq); },
      [&] { return ibv_alloc_parent_domain(context.get(), &parent); });
  EXPECT_NE(make_qp(IBV_QPT_RC), nullptr) << "the PD is as it was";
}

TEST_F(SpoiltObjectTest, RegionsAndWindows) {
  PdPtr other(ibv_alloc_pd(context.get()));
  MrPtr mr = make_mr(memory, sizeof memory, IBV_ACCESS_LOCAL_WRITE);
  MwPtr mw(ibv_alloc_mw(pd.get(), IBV_MW_TYPE_1));
  ASSERT_NE(mw, nullptr);
  expect_refused(mr->handle, [&] { return ibv_dereg_mr(mr.get()); });
  expect_refused(mw->handle, [&] { return ibv_dealloc_mw(mw.get()); });
  {
    const Spoilt spoilt(mr->handle);
    errno = 0;
    EXPECT_EQ(ibv_rereg_mr(mr.get(), IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0, 0),
              IBV_REREG_MR_ERR_CMD);
    EXPECT_EQ(errno, ENOENT);
  }
  {
    const Spoilt spoilt(other->handle);
    errno = 0;
    EXPECT_EQ(ibv_rereg_mr(mr.get(), IBV_REREG_MR_CHANGE_PD, other.get(), nullptr, 0, 0),
              IBV_REREG_MR_ERR_CMD);
    EXPECT_EQ(errno, ENOENT);
  }
  EXPECT_EQ(ibv_rereg_mr(mr.get(), IBV_REREG_MR_CHANGE_PD, other.get(), nullptr, 0, 0), 0);
}

TEST_F(SpoiltObjectTest, DeviceMemory) {
  ibv_alloc_dm_attr wanted{};
  wanted.length = 64;
  DmPtr dm(ibv_alloc_dm(context.get(), &wanted));
  ASSERT_NE(dm, nullptr);
  const std::uint32_t handle = dm->handle;
  expect_refused(
      dm->handle, [&] { return ibv_free_dm(dm.get()); },
      [&] { return ibv_memcpy_to_dm(dm.get(), 0, memory, 8); },
      [&] { return ibv_memcpy_from_dm(memory, dm.get(), 0, 8); },
      [&] { return ibv_reg_dm_mr(pd.get(), dm.get(), 0, 64, IBV_ACCESS_ZERO_BASED); });
  dm.reset();
  EXPECT_EQ(ibv_import_dm(context.get(), handle), nullptr) << "what was freed is not there to be imported";
}

TEST_F(SpoiltObjectTest, CompletionQueue) {
  ChannelPtr channel(ibv_create_comp_channel(context.get()));
  CqPtr other(ibv_create_cq(context.get(), 4, nullptr, channel.get(), 0));
  ASSERT_NE(other, nullptr);
  ibv_modify_cq_attr moderation{};
  moderation.attr_mask = IBV_CQ_ATTR_MODERATE;
  ibv_qp_init_attr sends = qp_init(IBV_QPT_RC), receives = sends;
  sends.send_cq = other.get();
  receives.recv_cq = other.get();
  ibv_wq_init_attr wq = wq_init(cq.get(), 4);
  wq.cq = other.get();
  expect_refused(
      other->handle, [&] { return ibv_destroy_cq(other.get()); },
      [&] { return ibv_resize_cq(other.get(), 8); }, [&] { return ibv_modify_cq(other.get(), &moderation); },
      [&] { return ibv_req_notify_cq(other.get(), 0); }, [&] { return ibv_create_qp(pd.get(), &sends); },
      [&] { return ibv_create_qp(pd.get(), &receives); }, [&] { return ibv_create_wq(context.get(), &wq); });
  ibv_wc wc{};
  const Spoilt spoilt(other->handle);
  EXPECT_EQ(ibv_poll_cq(other.get(), 1, &wc), 0) << "what every message goes through looks at no handle";
}

TEST_F(SpoiltObjectTest, ExtendedCompletionQueue) {
  ibv_cq_init_attr_ex wanted{};
  wanted.cqe = 4;
  ibv_cq_ex* const extended = ibv_create_cq_ex(context.get(), &wanted);
  ASSERT_NE(extended, nullptr);
  CqPtr owner(ibv_cq_ex_to_cq(extended));
  expect_refused(extended->handle, [&] { return ibv_destroy_cq(ibv_cq_ex_to_cq(extended)); });
}

TEST_F(SpoiltObjectTest, SharedReceiveQueue) {
  ibv_srq_init_attr wanted{};
  wanted.attr = {4, 1, 0};
  SrqPtr srq(ibv_create_srq(pd.get(), &wanted));
  ASSERT_NE(srq, nullptr);
  ibv_srq_attr attributes{};
  std::uint32_t number = 0;
  ibv_qp_init_attr with = qp_init(IBV_QPT_RC);
  with.srq = srq.get();
  expect_refused(
      srq->handle, [&] { return ibv_destroy_srq(srq.get()); },
      [&] { return ibv_query_srq(srq.get(), &attributes); },
      [&] { return ibv_modify_srq(srq.get(), &attributes, IBV_SRQ_LIMIT); },
      [&] { return ibv_get_srq_num(srq.get(), &number); }, [&] { return ibv_create_qp(pd.get(), &with); });
  ibv_recv_wr wr{}, *bad = nullptr;
  const Spoilt spoilt(srq->handle);
  EXPECT_EQ(ibv_post_srq_recv(srq.get(), &wr, &bad), 0)
      << "what every message goes through looks at no handle";
}

TEST_F(SpoiltObjectTest, QueuePair) {
  QpPtr a = make_qp(IBV_QPT_RC), b = make_qp(IBV_QPT_RC);
  connect(a.get(), b.get());
  ibv_qp_attr attributes{};
  ibv_qp_init_attr init{};
  ibv_qp_rate_limit_attr rate{};
  attributes.qp_state = IBV_QPS_ERR;
  ibv_flow_attr flow{};
  ibv_ece ece{};
  ibv_qp* const qp = a.get();
  expect_refused(
      qp->handle, [&] { return ibv_destroy_qp(qp); },
      [&] { return ibv_modify_qp(qp, &attributes, IBV_QP_STATE); },
      [&] { return ibv_query_qp(qp, &attributes, IBV_QP_STATE, &init); },
      [&] { return ibv_modify_qp_rate_limit(qp, &rate); }, [&] { return ibv_attach_mcast(qp, &gid, 0); },
      [&] { return ibv_detach_mcast(qp, &gid, 0); }, [&] { return ibv_create_flow(qp, &flow); },
      [&] { return ibv_set_ece(qp, &ece); });
  ASSERT_EQ(ibv_query_qp(qp, &attributes, IBV_QP_STATE, &init), 0);
  EXPECT_EQ(attributes.qp_state, IBV_QPS_RTS) << "nothing has changed it";
  MrPtr mr = make_mr(memory, sizeof memory, IBV_ACCESS_LOCAL_WRITE);
  {
    const Spoilt spoilt(qp->handle), other(b->handle), region(mr->handle);
    EXPECT_EQ(post_recv(b.get(), 1, sge_of(memory, 32, mr.get())), 0);
    EXPECT_EQ(post_send(qp, 2, sge_of(memory + 32, 32, mr.get())), 0);
    for (const ibv_wc& wc : collect(cq.get(), 2)) EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
  }
}

TEST_F(SpoiltObjectTest, AddressHandle) {
  ibv_ah_attr where = address();
  AhPtr ah(ibv_create_ah(pd.get(), &where));
  ASSERT_NE(ah, nullptr);
  expect_refused(ah->handle, [&] { return ibv_destroy_ah(ah.get()); });
}

TEST_F(SpoiltObjectTest, WorkQueuesAndTables) {
  ibv_wq_init_attr wanted = wq_init(cq.get(), 4);
  WqPtr wq(ibv_create_wq(context.get(), &wanted));
  ASSERT_NE(wq, nullptr);
  ibv_wq* queues[] = {wq.get()};
  ibv_rwq_ind_table_init_attr spread{};
  spread.ind_tbl = queues;
  ibv_wq_attr attributes{};
  attributes.attr_mask = IBV_WQ_ATTR_STATE;
  attributes.wq_state = IBV_WQS_RDY;
  expect_refused(
      wq->handle, [&] { return ibv_destroy_wq(wq.get()); },
      [&] { return ibv_modify_wq(wq.get(), &attributes); },
      [&] { return ibv_create_rwq_ind_table(context.get(), &spread); });
  TablePtr table(ibv_create_rwq_ind_table(context.get(), &spread));
  ASSERT_NE(table, nullptr);
  std::uint8_t key[40]{};
  ibv_qp_init_attr_ex init{};
  init.qp_type = IBV_QPT_RAW_PACKET;
  init.pd = pd.get();
  init.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_IND_TABLE | IBV_QP_INIT_ATTR_RX_HASH;
  init.rwq_ind_tbl = table.get();
  init.rx_hash_conf = {IBV_RX_HASH_FUNC_TOEPLITZ, sizeof key, key, IBV_RX_HASH_SRC_IPV4};
  expect_refused(
      table->ind_tbl_handle, [&] { return ibv_destroy_rwq_ind_table(table.get()); },
      [&] { return ibv_create_qp_ex(context.get(), &init); });
}

// ib_uverbs looks a handle up among those of the file that the context names.
TEST_F(SpoiltObjectTest, AnotherContext) {
  ContextPtr other(open_first());
  ASSERT_NE(other, nullptr);
  PdPtr of_first(ibv_alloc_pd(context.get()));
  of_first->context = other.get();
  EXPECT_EQ(ibv_dealloc_pd(of_first.get()), ENOENT);
  expect_no_such(ibv_reg_mr(of_first.get(), memory, sizeof memory, 0));
  of_first->context = context.get();
}

// An XRC domain has no handle that a program sees. As an argument of another call it is EINVAL there.
TEST_F(SpoiltObjectTest, XrcDomain) {
  ContextPtr other(open_first());
  ibv_xrcd_init_attr wanted{};
  wanted.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
  wanted.fd = -1;
  wanted.oflags = O_CREAT;
  XrcdPtr xrcd(ibv_open_xrcd(context.get(), &wanted));
  ASSERT_NE(xrcd, nullptr);
  ibv_qp_init_attr_ex init{};
  init.qp_type = IBV_QPT_XRC_RECV;
  init.comp_mask = IBV_QP_INIT_ATTR_XRCD;
  init.xrcd = xrcd.get();
  ibv_srq_init_attr_ex srq{};
  srq.attr = {1, 1, 0};
  srq.comp_mask =
      IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
  srq.srq_type = IBV_SRQT_XRC;
  srq.pd = pd.get();
  srq.cq = cq.get();
  srq.xrcd = xrcd.get();
  xrcd->context = other.get();
  EXPECT_EQ(ibv_close_xrcd(xrcd.get()), ENOENT);
  errno = 0;
  EXPECT_EQ(ibv_create_qp_ex(context.get(), &init), nullptr);
  EXPECT_EQ(errno, EINVAL);
  errno = 0;
  EXPECT_EQ(ibv_create_srq_ex(context.get(), &srq), nullptr);
  EXPECT_EQ(errno, EINVAL);
  xrcd->context = context.get();
}

// A program that goes on with what it has destroyed hears so, and nobody reads memory that was freed.
TEST_F(SpoiltObjectTest, WhatWasDestroyed) {
  ibv_cq* const gone = ibv_create_cq(context.get(), 1, nullptr, nullptr, 0);
  ASSERT_EQ(ibv_destroy_cq(gone), 0);
  ibv_qp_init_attr init = qp_init(IBV_QPT_RC);
  init.recv_cq = gone;
  errno = 0;
  EXPECT_EQ(ibv_create_qp(pd.get(), &init), nullptr);
  EXPECT_EQ(errno, EINVAL);
}

}  // namespace
}  // namespace softrnic::abi_test
