// What tests of verbs need again and again: owners for C objects, an open device, connected queue pairs.
#pragma once

#include <gtest/gtest.h>
#include <infiniband/verbs.h>
#include <poll.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

namespace softrnic::abi_test {

/// Destroys with the verb, which has to succeed.
template <auto Destroy>
struct Destroyer {
  template <typename T>
  void operator()(T* object) const {
    EXPECT_EQ(Destroy(object), 0);
  }
};
template <typename T, auto Destroy>
using Owner = std::unique_ptr<T, Destroyer<Destroy>>;

using ContextPtr = Owner<ibv_context, ibv_close_device>;
using PdPtr = Owner<ibv_pd, ibv_dealloc_pd>;
using MrPtr = Owner<ibv_mr, ibv_dereg_mr>;
using ChannelPtr = Owner<ibv_comp_channel, ibv_destroy_comp_channel>;
using CqPtr = Owner<ibv_cq, ibv_destroy_cq>;
using QpPtr = Owner<ibv_qp, ibv_destroy_qp>;
using SrqPtr = Owner<ibv_srq, ibv_destroy_srq>;
using AhPtr = Owner<ibv_ah, ibv_destroy_ah>;

constexpr std::uint32_t kQkey = 0x11111111;
constexpr std::size_t kPage = 4096;
/// Of memory that peers read and write: a right to write it needs that of its owner.
constexpr int kRemoteReadWrite = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;

inline ibv_context* open_first() {
  int count = 0;
  ibv_device** list = ibv_get_device_list(&count);
  ibv_context* context = list != nullptr && count > 0 ? ibv_open_device(list[0]) : nullptr;
  if (list != nullptr) ibv_free_device_list(list);
  return context;
}

inline std::uint64_t to_address(const void* place) { return reinterpret_cast<std::uintptr_t>(place); }

inline ibv_sge sge_of(const void* data, std::size_t length, const ibv_mr* mr) {
  return {to_address(data), static_cast<std::uint32_t>(length), mr == nullptr ? 0 : mr->lkey};
}

/// A device with a PD and a CQ.
class VerbsTest : public testing::Test {
 protected:
  void SetUp() override {
    context.reset(open_first());
    ASSERT_NE(context, nullptr) << std::strerror(errno);
    pd.reset(ibv_alloc_pd(context.get()));
    ASSERT_NE(pd, nullptr);
    cq.reset(ibv_create_cq(context.get(), 256, nullptr, nullptr, 0));
    ASSERT_NE(cq, nullptr);
    ASSERT_EQ(ibv_query_gid(context.get(), 1, 0, &gid), 0);
  }

  ibv_wq_init_attr wq_init(ibv_cq* completions, std::uint32_t max_wr) const {
    ibv_wq_init_attr init{};
    init.wq_type = IBV_WQT_RQ;
    init.max_wr = max_wr;
    init.max_sge = 1;
    init.pd = pd.get();
    init.cq = completions;
    return init;
  }
  ibv_qp_init_attr qp_init(ibv_qp_type type) const {
    ibv_qp_init_attr init{};
    init.send_cq = cq.get();
    init.recv_cq = cq.get();
    init.cap = {
        .max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 2, .max_recv_sge = 2, .max_inline_data = 64};
    init.qp_type = type;
    return init;
  }
  /// With send operations (bits of enum ibv_qp_create_send_ops_flags); nullptr and errno when it is refused.
  QpPtr make_extended(ibv_qp_type type, std::uint64_t operations, unsigned extra_mask = 0) const {
    const ibv_qp_init_attr plain = qp_init(type);
    ibv_qp_init_attr_ex init{};
    init.send_cq = plain.send_cq;
    init.recv_cq = plain.recv_cq;
    init.cap = plain.cap;
    init.qp_type = type;
    init.pd = pd.get();
    init.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS | extra_mask;
    init.send_ops_flags = operations;
    errno = 0;
    return QpPtr(ibv_create_qp_ex(context.get(), &init));
  }
  QpPtr make_qp(ibv_qp_type type) const {
    ibv_qp_init_attr init = qp_init(type);
    return QpPtr(ibv_create_qp(pd.get(), &init));
  }
  MrPtr make_mr(void* address, std::size_t length, int access) const {
    return MrPtr(ibv_reg_mr(pd.get(), address, length, access));
  }

  ibv_ah_attr address() const {
    ibv_ah_attr attributes{};
    attributes.is_global = 1;
    attributes.grh.dgid = gid;
    attributes.grh.hop_limit = 64;
    attributes.port_num = 1;
    return attributes;
  }

  static int to_init(ibv_qp* qp) {
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_INIT;
    attributes.port_num = 1;
    attributes.qkey = kQkey;
    attributes.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
    const int own = qp->qp_type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS;
    return ibv_modify_qp(qp, &attributes, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | own);
  }
  int to_rtr(ibv_qp* qp, std::uint32_t peer, std::uint32_t psn = 0) const {
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_RTR;
    attributes.rq_psn = psn;
    attributes.path_mtu = IBV_MTU_1024;
    attributes.dest_qp_num = peer;
    attributes.max_dest_rd_atomic = 4;
    attributes.min_rnr_timer = 1;
    attributes.ah_attr = address();
    int mask = IBV_QP_STATE;
    if (qp->qp_type != IBV_QPT_UD) mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
    if (qp->qp_type == IBV_QPT_RC || qp->qp_type == IBV_QPT_XRC_RECV)
      mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
    return ibv_modify_qp(qp, &attributes, mask);
  }
  static int to_rts(ibv_qp* qp, std::uint8_t timeout = 14) {
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_RTS;
    attributes.timeout = timeout;
    attributes.retry_cnt = 7;
    attributes.rnr_retry = 7;
    attributes.max_rd_atomic = 4;
    int mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
    const bool requests = qp->qp_type == IBV_QPT_RC || qp->qp_type == IBV_QPT_XRC_SEND;
    if (requests || qp->qp_type == IBV_QPT_XRC_RECV) mask |= IBV_QP_TIMEOUT;
    if (requests) mask |= IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
    return ibv_modify_qp(qp, &attributes, mask);
  }
  static int to_state(ibv_qp* qp, ibv_qp_state state) {
    ibv_qp_attr attributes{};
    attributes.qp_state = state;
    return ibv_modify_qp(qp, &attributes, IBV_QP_STATE);
  }
  void connect(ibv_qp* a, ibv_qp* b) const {
    ASSERT_EQ(to_init(a), 0);
    ASSERT_EQ(to_init(b), 0);
    ASSERT_EQ(to_rtr(a, b->qp_num), 0);
    ASSERT_EQ(to_rtr(b, a->qp_num), 0);
    ASSERT_EQ(to_rts(a), 0);
    ASSERT_EQ(to_rts(b), 0);
  }

  /// The next `count` completions of `from`, within 20 s.
  static std::vector<ibv_wc> collect(ibv_cq* from, std::size_t count) {
    std::vector<ibv_wc> all;
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (all.size() < count && std::chrono::steady_clock::now() < deadline) {
      ibv_wc wc{};
      if (ibv_poll_cq(from, 1, &wc) == 1) all.push_back(wc);
    }
    EXPECT_EQ(all.size(), count) << "completions in time";
    all.resize(count);
    return all;
  }
  /// A WRITE of a few bytes to `address` of the region arrives at `there`.
  void expect_reached(const ibv_mr* mr, std::uint64_t address, const char* there) const {
    QpPtr a = make_qp(IBV_QPT_RC);
    QpPtr b = make_qp(IBV_QPT_RC);
    connect(a.get(), b.get());
    char source[] = "reached";
    MrPtr source_mr = make_mr(source, sizeof source, 0);
    ibv_sge sge = sge_of(source, sizeof source, source_mr.get());
    ibv_send_wr wr{}, *bad = nullptr;
    wr.sg_list = &sge;
    wr.num_sge = 1;
    wr.opcode = IBV_WR_RDMA_WRITE;
    wr.send_flags = IBV_SEND_SIGNALED;
    wr.wr.rdma = {.remote_addr = address, .rkey = mr->rkey};
    ASSERT_EQ(ibv_post_send(a.get(), &wr, &bad), 0);
    EXPECT_EQ(collect(cq.get(), 1)[0].status, IBV_WC_SUCCESS);
    EXPECT_STREQ(there, source);
  }

  static bool readable(int fd, int milliseconds) {
    pollfd waiting{fd, POLLIN, 0};
    return poll(&waiting, 1, milliseconds) == 1;
  }

  // Members go in the reverse order.
  ContextPtr context;
  PdPtr pd;
  CqPtr cq;
  ibv_gid gid{};
};

inline int post_recv(ibv_qp* qp, std::uint64_t id, ibv_sge sge) {
  ibv_recv_wr wr{}, *bad = nullptr;
  wr.wr_id = id;
  wr.sg_list = &sge;
  wr.num_sge = 1;
  return ibv_post_recv(qp, &wr, &bad);
}

inline int post_send(ibv_qp* qp, std::uint64_t id, ibv_sge sge, unsigned flags = IBV_SEND_SIGNALED) {
  ibv_send_wr wr{}, *bad = nullptr;
  wr.wr_id = id;
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.opcode = IBV_WR_SEND;
  wr.send_flags = flags;
  return ibv_post_send(qp, &wr, &bad);
}

}  // namespace softrnic::abi_test
