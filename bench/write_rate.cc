// RDMA WRITEs from one process to another, with the number of queue pairs and the memory they cover set apart:
// ib_write_bw gives every queue pair a buffer of its own, so that many of them also leave the processor's cache.
//
//   write_rate [OPTIONS] SECONDS          the target
//   write_rate [OPTIONS] SECONDS HOST     the initiator, prints GB/s (10^9)
//     --qps N  --size BYTES (65536)  --memory BYTES (that of the messages of all queue pairs)  --gid-index N  --port N
#include <infiniband/verbs.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "tests/interop/verify/channel.h"

using interop::Channel;
using interop::require;

namespace {

constexpr std::size_t kMostQps = 4096;
constexpr unsigned kDepth = 128;  ///< as ib_write_bw

struct Options {
  std::size_t qps = 1;
  std::size_t size = 65536;
  std::size_t memory = 0;
  int gid_index = 1;
  std::uint16_t port = 18530;
  double seconds = 1;
  std::string host;
};

Options parse(int argc, char** argv) {
  Options o;
  std::vector<std::string> rest;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word.rfind("--", 0) != 0) {
      rest.push_back(word);
      continue;
    }
    require(i + 1 < argc, "an option without its value");
    const auto value = std::strtoull(argv[++i], nullptr, 0);
    if (word == "--qps")
      o.qps = value;
    else if (word == "--size")
      o.size = value;
    else if (word == "--memory")
      o.memory = value;
    else if (word == "--gid-index")
      o.gid_index = static_cast<int>(value);
    else if (word == "--port")
      o.port = static_cast<std::uint16_t>(value);
    else
      require(false, "an unknown option");
  }
  require(!rest.empty() && rest.size() <= 2, "SECONDS [HOST]");
  o.seconds = std::strtod(rest[0].c_str(), nullptr);
  if (rest.size() == 2) o.host = rest[1];
  if (o.memory == 0) o.memory = o.qps * o.size;
  require(o.qps > 0 && o.qps <= kMostQps && o.size > 0 && o.memory >= o.size, "values out of range");
  return o;
}

struct Address {
  std::uint64_t address;
  std::uint32_t rkey;
  ibv_gid gid;
};

/// The device, one region, one CQ and the queue pairs of one side.
struct Side {
  ibv_context* context = nullptr;
  ibv_pd* pd = nullptr;
  ibv_cq* cq = nullptr;
  ibv_mr* mr = nullptr;
  std::vector<std::byte> memory;
  std::vector<ibv_qp*> qps;

  explicit Side(const Options& o) : memory(o.memory, std::byte{1}) {
    int count = 0;
    ibv_device** devices = ibv_get_device_list(&count);
    require(devices != nullptr && count > 0, "ibv_get_device_list");
    context = ibv_open_device(devices[0]);
    ibv_free_device_list(devices);
    require(context != nullptr && (pd = ibv_alloc_pd(context)) != nullptr, "ibv_open_device");
    cq = ibv_create_cq(context, static_cast<int>(o.qps * kDepth), nullptr, nullptr, 0);
    mr = ibv_reg_mr(pd, memory.data(), memory.size(), IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    require(cq != nullptr && mr != nullptr, "ibv_create_cq, ibv_reg_mr");
    for (std::size_t i = 0; i < o.qps; ++i) {
      ibv_qp_init_attr wanted{};
      wanted.qp_type = IBV_QPT_RC;
      wanted.sq_sig_all = 1;
      wanted.send_cq = wanted.recv_cq = cq;
      wanted.cap = {kDepth, 1, 1, 1, 0};
      qps.push_back(ibv_create_qp(pd, &wanted));
      require(qps.back() != nullptr, "ibv_create_qp");
    }
  }
  ~Side() {
    for (ibv_qp* qp : qps) (void)ibv_destroy_qp(qp);
    (void)ibv_dereg_mr(mr);
    (void)ibv_destroy_cq(cq);
    (void)ibv_dealloc_pd(pd);
    (void)ibv_close_device(context);
  }
  Side(const Side&) = delete;
  Side& operator=(const Side&) = delete;
};

void connect(ibv_qp* qp, std::uint32_t peer_qpn, const Address& peer, const Options& o) {
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_INIT;
  attr.port_num = 1;
  attr.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
  require(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0,
          "to INIT");
  ibv_port_attr port{};
  require(ibv_query_port(qp->context, 1, &port) == 0, "ibv_query_port");
  attr = {};
  attr.qp_state = IBV_QPS_RTR;
  attr.path_mtu = port.active_mtu;
  attr.dest_qp_num = peer_qpn;
  attr.max_dest_rd_atomic = 1;
  attr.min_rnr_timer = 12;
  attr.ah_attr.is_global = 1;
  attr.ah_attr.grh.dgid = peer.gid;
  attr.ah_attr.grh.sgid_index = static_cast<std::uint8_t>(o.gid_index);
  attr.ah_attr.grh.hop_limit = 64;
  attr.ah_attr.port_num = 1;
  require(ibv_modify_qp(qp, &attr,
                        IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                            IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) == 0,
          "to RTR");
  attr = {};
  attr.qp_state = IBV_QPS_RTS;
  attr.timeout = 14;
  attr.retry_cnt = attr.rnr_retry = 7;
  attr.max_rd_atomic = 1;
  require(ibv_modify_qp(qp, &attr,
                        IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                            IBV_QP_MAX_QP_RD_ATOMIC) == 0,
          "to RTS");
}

/// Keeps all queue pairs full, in turns, for the time; every message takes the next place of the region.
double run(Side& side, const Address& peer, const Options& o) {
  using Clock = std::chrono::steady_clock;
  const std::size_t places = o.memory / o.size;
  std::size_t place = 0;
  std::uint64_t completed = 0, posted = 0;
  const auto post = [&](std::size_t index) {
    ibv_sge sge{reinterpret_cast<std::uint64_t>(side.memory.data()) + place * o.size,
                static_cast<std::uint32_t>(o.size), side.mr->lkey};
    ibv_send_wr wr{}, *bad = nullptr;
    wr.wr_id = index;
    wr.sg_list = &sge;
    wr.num_sge = 1;
    wr.opcode = IBV_WR_RDMA_WRITE;
    wr.wr.rdma = {peer.address + place * o.size, peer.rkey};
    require(ibv_post_send(side.qps[index], &wr, &bad) == 0, "ibv_post_send");
    place = (place + 1) % places;
    ++posted;
  };
  // As many as one queue pair holds, whatever their number, but at least eight for each.
  const std::size_t each = std::max<std::size_t>(8, kDepth / o.qps);
  for (std::size_t k = 0; k < each; ++k)
    for (std::size_t i = 0; i < o.qps; ++i) post(i);
  const auto begin = Clock::now();
  auto now = begin;
  const auto end = begin + std::chrono::duration<double>(o.seconds);
  std::uint64_t in_time = 0;
  while (completed < posted) {
    ibv_wc done[16];
    const int n = ibv_poll_cq(side.cq, 16, done);
    require(n >= 0, "ibv_poll_cq");
    completed += static_cast<std::uint64_t>(n);
    now = Clock::now();
    if (now >= end) continue;
    in_time = completed;
    for (int i = 0; i < n; ++i) {
      require(done[i].status == IBV_WC_SUCCESS, ibv_wc_status_str(done[i].status));
      post(done[i].wr_id);
    }
  }
  return static_cast<double>(in_time * o.size) / o.seconds / 1e9;
}

}  // namespace

int main(int argc, char** argv) {
  const Options o = parse(argc, argv);
  Side side(o);
  Channel channel = o.host.empty() ? Channel::accept_one(o.port) : Channel::connect_to(o.host, o.port);
  Address mine{reinterpret_cast<std::uint64_t>(side.memory.data()), side.mr->rkey, {}};
  require(ibv_query_gid(side.context, 1, o.gid_index, &mine.gid) == 0, "ibv_query_gid");
  const Address peer = channel.exchange(mine);
  for (ibv_qp* qp : side.qps) connect(qp, channel.exchange(qp->qp_num), peer, o);
  channel.barrier();
  if (!o.host.empty()) std::printf("%.3f\n", run(side, peer, o));
  channel.barrier();
}
