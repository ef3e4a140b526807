// A program in the style of the well-known manuals: TCP exchange of LID, GID and QPN; one RC queue pair; the
// server SENDs a message to the client, the client READs the server's memory, then WRITEs it.
//
//   classic [--gid-index N] [--port N]             the server
//   classic [--gid-index N] [--port N] HOST        the client

#include <infiniband/verbs.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>

#include "tests/interop/verify/channel.h"

using interop::Channel;
using interop::require;

namespace {

constexpr std::size_t kMessageSize = 64;
constexpr char kSent[] = "SEND operation by the server";
constexpr char kRead[] = "RDMA read operation: the server's memory";
constexpr char kWritten[] = "RDMA write operation by the client";

struct Address {
  std::uint64_t address;
  std::uint32_t rkey;
  std::uint32_t qpn;
  std::uint16_t lid;
  ibv_gid gid;
};

struct Resources {
  ibv_context* context = nullptr;
  ibv_pd* pd = nullptr;
  ibv_cq* cq = nullptr;
  ibv_mr* mr = nullptr;
  ibv_qp* qp = nullptr;
  ibv_port_attr port{};
  char buffer[kMessageSize] = {};
};

void create(Resources& r) {
  int count = 0;
  ibv_device** devices = ibv_get_device_list(&count);
  require(devices && count > 0, "ibv_get_device_list");
  r.context = ibv_open_device(devices[0]);
  require(r.context, "ibv_open_device");
  ibv_free_device_list(devices);
  require(ibv_query_port(r.context, 1, &r.port) == 0, "ibv_query_port");
  r.pd = ibv_alloc_pd(r.context);
  require(r.pd, "ibv_alloc_pd");
  r.cq = ibv_create_cq(r.context, 1, nullptr, nullptr, 0);
  require(r.cq, "ibv_create_cq");
  r.mr = ibv_reg_mr(r.pd, r.buffer, sizeof r.buffer,
                    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE);
  require(r.mr, "ibv_reg_mr");
  ibv_qp_init_attr wanted{};
  wanted.qp_type = IBV_QPT_RC;
  wanted.sq_sig_all = 1;
  wanted.send_cq = wanted.recv_cq = r.cq;
  wanted.cap.max_send_wr = wanted.cap.max_recv_wr = 1;
  wanted.cap.max_send_sge = wanted.cap.max_recv_sge = 1;
  r.qp = ibv_create_qp(r.pd, &wanted);
  require(r.qp, "ibv_create_qp");
}

void to_init(ibv_qp* qp) {
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_INIT;
  attr.port_num = 1;
  attr.qp_access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;
  require(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0,
          "to INIT");
}

void to_rtr(ibv_qp* qp, const Address& peer, int gid_index) {
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_RTR;
  attr.path_mtu = IBV_MTU_256;
  attr.dest_qp_num = peer.qpn;
  attr.max_dest_rd_atomic = 1;
  attr.min_rnr_timer = 0x12;
  attr.ah_attr.dlid = peer.lid;
  attr.ah_attr.port_num = 1;
  attr.ah_attr.is_global = 1;
  attr.ah_attr.grh.dgid = peer.gid;
  attr.ah_attr.grh.hop_limit = 1;
  attr.ah_attr.grh.sgid_index = static_cast<std::uint8_t>(gid_index);
  require(ibv_modify_qp(qp, &attr,
                        IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                            IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) == 0,
          "to RTR");
}

void to_rts(ibv_qp* qp) {
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_RTS;
  attr.timeout = 0x12;
  attr.retry_cnt = 6;
  attr.rnr_retry = 0;
  attr.max_rd_atomic = 1;
  require(ibv_modify_qp(qp, &attr,
                        IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                            IBV_QP_MAX_QP_RD_ATOMIC) == 0,
          "to RTS");
}

ibv_sge whole(const Resources& r) {
  return {reinterpret_cast<std::uintptr_t>(r.buffer), kMessageSize, r.mr->lkey};
}

void post_receive(Resources& r) {
  ibv_sge sge = whole(r);
  ibv_recv_wr wr{};
  wr.sg_list = &sge;
  wr.num_sge = 1;
  ibv_recv_wr* bad = nullptr;
  require(ibv_post_recv(r.qp, &wr, &bad) == 0, "ibv_post_recv");
}

void post_send(Resources& r, ibv_wr_opcode opcode, const Address& peer) {
  ibv_sge sge = whole(r);
  ibv_send_wr wr{};
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.opcode = opcode;
  wr.send_flags = IBV_SEND_SIGNALED;
  wr.wr.rdma.remote_addr = peer.address;
  wr.wr.rdma.rkey = peer.rkey;
  ibv_send_wr* bad = nullptr;
  require(ibv_post_send(r.qp, &wr, &bad) == 0, "ibv_post_send");
}

void wait_completion(Resources& r) {
  ibv_wc wc{};
  int found = 0;
  while ((found = ibv_poll_cq(r.cq, 1, &wc)) == 0) {
  }
  require(found == 1, "ibv_poll_cq");
  if (wc.status != IBV_WC_SUCCESS) std::fprintf(stderr, "completion: %s\n", ibv_wc_status_str(wc.status));
  require(wc.status == IBV_WC_SUCCESS, "a completion");
}

/// Says what the buffer holds, and ends the program when that is not `expected`.
void expect(const Resources& r, const char* when, const char* expected) {
  std::printf("%s: %s\n", when, r.buffer);
  require(std::strcmp(r.buffer, expected) == 0, "the buffer holds something else");
}

void serve(Resources& r, const Address& peer, Channel& channel) {
  std::strcpy(r.buffer, kSent);  // NOLINT(no-unsafe-c): a literal that fits
  post_send(r, IBV_WR_SEND, peer);
  wait_completion(r);
  std::strcpy(r.buffer, kRead);  // NOLINT(no-unsafe-c): a literal that fits
  channel.barrier();             // the client reads, then writes
  channel.barrier();
  expect(r, "after the WRITE", kWritten);
}

void use(Resources& r, const Address& peer, Channel& channel) {
  wait_completion(r);
  expect(r, "after the SEND", kSent);
  channel.barrier();
  post_send(r, IBV_WR_RDMA_READ, peer);
  wait_completion(r);
  expect(r, "after the READ", kRead);
  std::strcpy(r.buffer, kWritten);  // NOLINT(no-unsafe-c): a literal that fits
  post_send(r, IBV_WR_RDMA_WRITE, peer);
  wait_completion(r);
  std::printf("after the WRITE: the server looks\n");
  channel.barrier();
}

void destroy(Resources& r) {
  require(ibv_destroy_qp(r.qp) == 0, "ibv_destroy_qp");
  require(ibv_dereg_mr(r.mr) == 0, "ibv_dereg_mr");
  require(ibv_destroy_cq(r.cq) == 0, "ibv_destroy_cq");
  require(ibv_dealloc_pd(r.pd) == 0, "ibv_dealloc_pd");
  require(ibv_close_device(r.context) == 0, "ibv_close_device");
}

}  // namespace

int main(int argc, char** argv) {
  int gid_index = 0;
  std::uint16_t port = 18600;
  std::string host;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--gid-index" && i + 1 < argc) {
      gid_index = static_cast<int>(std::strtol(argv[++i], nullptr, 10));
    } else if (word == "--port" && i + 1 < argc) {
      port = static_cast<std::uint16_t>(std::strtol(argv[++i], nullptr, 10));
    } else {
      host = word;
    }
  }
  Channel channel = host.empty() ? Channel::accept_one(port) : Channel::connect_to(host, port);
  Resources r;
  create(r);
  Address mine{reinterpret_cast<std::uintptr_t>(r.buffer), r.mr->rkey, r.qp->qp_num, r.port.lid, {}};
  require(ibv_query_gid(r.context, 1, gid_index, &mine.gid) == 0, "ibv_query_gid");
  const Address peer = channel.exchange(mine);
  std::printf("local LID 0x%x QPN 0x%x, remote LID 0x%x QPN 0x%x\n", mine.lid, mine.qpn, peer.lid, peer.qpn);
  to_init(r.qp);
  if (!host.empty()) post_receive(r);
  to_rtr(r.qp, peer, gid_index);
  to_rts(r.qp);
  channel.barrier();
  if (host.empty()) {
    serve(r, peer, channel);
  } else {
    use(r, peer, channel);
  }
  channel.barrier();
  destroy(r);
  return 0;
}
