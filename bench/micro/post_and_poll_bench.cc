// Posting and polling in both ways that verbs have: the structures of ibv_post_send and ibv_poll_cq, and the
// calls of ibv_wr_post(3) and ibv_create_cq_ex(3). WRITEs of 8 bytes within this process, so that little
// else is measured; the argument is the number of work requests in a batch. Structures are polled 16 at a
// time, as perftest does.
#include <benchmark/benchmark.h>
#include <infiniband/verbs.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace {

constexpr int kMaxBatch = 64;
constexpr int kPolled = 16;

void must(bool ok, const char* what) {
  if (ok) return;
  std::perror(what);
  std::exit(1);
}

/// Two connected queue pairs, made the extended way, which serves both ways of posting and polling.
class Loop {
 public:
  Loop() {
    int count = 0;
    ibv_device** const list = ibv_get_device_list(&count);
    must(list != nullptr && count > 0, "ibv_get_device_list");
    context_ = ibv_open_device(list[0]);
    must(context_ != nullptr, "ibv_open_device");
    pd_ = ibv_alloc_pd(context_);
    ibv_cq_init_attr_ex cq{};
    cq.cqe = 2 * kMaxBatch;
    cq.wc_flags = IBV_WC_STANDARD_FLAGS;
    extended_cq = ibv_create_cq_ex(context_, &cq);
    must(extended_cq != nullptr, "ibv_create_cq_ex");
    mr = ibv_reg_mr(pd_, words.data(), sizeof words, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    must(mr != nullptr, "ibv_reg_mr");
    qp = create();
    ibv_qp* const peer = create();
    connect(qp, peer->qp_num);
    connect(peer, qp->qp_num);
    extended_qp = ibv_qp_to_qp_ex(qp);
  }

  std::uint64_t from() const { return reinterpret_cast<std::uintptr_t>(words.data()); }
  std::uint64_t to() const { return from() + sizeof(std::uint64_t); }

  std::array<std::uint64_t, 2> words{};
  ibv_mr* mr = nullptr;
  ibv_qp* qp = nullptr;
  ibv_qp_ex* extended_qp = nullptr;
  ibv_cq_ex* extended_cq = nullptr;

 private:
  ibv_qp* create() const {
    ibv_qp_init_attr_ex init{};
    init.send_cq = init.recv_cq = ibv_cq_ex_to_cq(extended_cq);
    init.cap = {.max_send_wr = kMaxBatch,
                .max_recv_wr = 1,
                .max_send_sge = 1,
                .max_recv_sge = 1,
                .max_inline_data = 64};
    init.qp_type = IBV_QPT_RC;
    init.pd = pd_;
    init.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    init.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE;
    ibv_qp* const made = ibv_create_qp_ex(context_, &init);
    must(made != nullptr, "ibv_create_qp_ex");
    return made;
  }

  void connect(ibv_qp* from, std::uint32_t peer) const {
    ibv_qp_attr a{};
    a.qp_state = IBV_QPS_INIT;
    a.port_num = 1;
    a.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
    must(ibv_modify_qp(from, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0,
         "INIT");
    a.qp_state = IBV_QPS_RTR;
    a.path_mtu = IBV_MTU_1024;
    a.dest_qp_num = peer;
    a.ah_attr.is_global = 1;
    a.ah_attr.grh.hop_limit = 64;
    a.ah_attr.port_num = 1;
    must(ibv_query_gid(context_, 1, 0, &a.ah_attr.grh.dgid) == 0, "ibv_query_gid");
    must(ibv_modify_qp(from, &a,
                       IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                           IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) == 0,
         "RTR");
    a.qp_state = IBV_QPS_RTS;
    a.timeout = 14;
    a.retry_cnt = a.rnr_retry = 7;
    must(ibv_modify_qp(from, &a,
                       IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                           IBV_QP_MAX_QP_RD_ATOMIC) == 0,
         "RTS");
  }

  ibv_context* context_ = nullptr;
  ibv_pd* pd_ = nullptr;
};

Loop& loop() {
  static Loop one;
  return one;
}

void structures(benchmark::State& state) {
  Loop& l = loop();
  const auto batch = static_cast<std::size_t>(state.range(0));
  std::array<ibv_send_wr, kMaxBatch> wrs{};
  std::array<ibv_sge, kMaxBatch> sges{};
  std::array<ibv_wc, kPolled> wcs;
  std::uint64_t id = 0;
  for (auto _ : state) {
    for (std::size_t i = 0; i < batch; ++i) {
      sges[i] = {l.from(), sizeof(std::uint64_t), l.mr->lkey};
      wrs[i] = {};
      wrs[i].wr_id = ++id;
      wrs[i].sg_list = &sges[i];
      wrs[i].num_sge = 1;
      wrs[i].opcode = IBV_WR_RDMA_WRITE;
      wrs[i].send_flags = IBV_SEND_SIGNALED;
      wrs[i].wr.rdma = {l.to(), l.mr->rkey};
      wrs[i].next = i + 1 < batch ? &wrs[i + 1] : nullptr;
    }
    ibv_send_wr* bad = nullptr;
    must(ibv_post_send(l.qp, wrs.data(), &bad) == 0, "ibv_post_send");
    for (std::size_t done = 0; done < batch;) {
      const int n = ibv_poll_cq(ibv_cq_ex_to_cq(l.extended_cq), kPolled, wcs.data());
      for (int i = 0; i < n; ++i) must(wcs[static_cast<std::size_t>(i)].status == IBV_WC_SUCCESS, "WRITE");
      done += static_cast<std::size_t>(n);
    }
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(structures)->Arg(1)->Arg(16)->Arg(64);

void calls(benchmark::State& state) {
  Loop& l = loop();
  ibv_qp_ex* const qp = l.extended_qp;
  ibv_poll_cq_attr attributes{};
  const auto batch = static_cast<std::size_t>(state.range(0));
  qp->wr_flags = IBV_SEND_SIGNALED;
  for (auto _ : state) {
    ibv_wr_start(qp);
    for (std::size_t i = 0; i < batch; ++i) {
      ++qp->wr_id;
      ibv_wr_rdma_write(qp, l.mr->rkey, l.to());
      ibv_wr_set_sge(qp, l.mr->lkey, l.from(), sizeof(std::uint64_t));
    }
    must(ibv_wr_complete(qp) == 0, "ibv_wr_complete");
    for (std::size_t done = 0; done < batch;) {
      if (ibv_start_poll(l.extended_cq, &attributes) != 0) continue;
      do {
        must(l.extended_cq->status == IBV_WC_SUCCESS, "WRITE");
        ++done;
      } while (done < batch && ibv_next_poll(l.extended_cq) == 0);
      ibv_end_poll(l.extended_cq);
    }
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(calls)->Arg(1)->Arg(16)->Arg(64);

}  // namespace

BENCHMARK_MAIN();
