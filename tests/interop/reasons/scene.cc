#include "scene.h"

#include <arpa/inet.h>

#include <chrono>
#include <cstdlib>
#include <cstring>

namespace reasons {
namespace {

ibv_context* open_device() {
  int count = 0;
  ibv_device** list = ibv_get_device_list(&count);
  if (list == nullptr || count == 0) give_up("no device");
  ibv_context* context = ibv_open_device(list[0]);
  ibv_free_device_list(list);
  if (context == nullptr) give_up("cannot open the device");
  return context;
}

ibv_qp* make_qp(const Side& side, ibv_qp_type type) {
  ibv_qp_init_attr init{};
  init.send_cq = init.recv_cq = side.cq;
  init.cap.max_send_wr = init.cap.max_recv_wr = 4;
  init.cap.max_send_sge = init.cap.max_recv_sge = 1;
  init.cap.max_inline_data = 32;
  init.qp_type = type;
  return ibv_create_qp(side.pd, &init);
}

ibv_gid mapped(const char* address) {
  ibv_gid gid{};
  gid.raw[10] = gid.raw[11] = 0xff;
  inet_pton(AF_INET, address, gid.raw + 12);
  return gid;
}

}  // namespace

void expect(std::uint32_t qpn, const std::string& words) {
  std::printf("EXPECT {\"qpn\": %u, \"words\": \"%s\"}\n", qpn, words.c_str());
}

void expect(std::uint32_t qpn, std::uint64_t wr_id, const std::string& words) {
  std::printf("EXPECT {\"qpn\": %u, \"wr_id\": %llu, \"words\": \"%s\"}\n", qpn,
              static_cast<unsigned long long>(wr_id), words.c_str());
}

void give_up(const char* what) {
  std::printf("GAVE UP: %s (%s)\n", what, std::strerror(errno));
  std::exit(1);
}

void must(bool good, const char* what) {
  if (!good) give_up(what);
}

std::string hex(std::uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

std::string number(std::uint64_t value) { return std::to_string(value); }

Side::Side(ibv_qp_type type, bool with_channel, int entries) : context(open_device()) {
  pd = ibv_alloc_pd(context);
  if (with_channel) channel = ibv_create_comp_channel(context);
  cq = ibv_create_cq(context, entries, nullptr, channel, 0);
  mr = ibv_reg_mr(pd, memory.data(), memory.size(), kAllAccess);
  must(pd != nullptr && cq != nullptr && mr != nullptr, "cannot make the objects");
  qp = make_qp(*this, type);
  must(qp != nullptr, "cannot make the QP");
  do {
    must(ibv_query_gid(context, 1, gid_index, &gid) == 0, "no GID of an IPv4 address");
  } while ((gid.raw[10] != 0xff || gid.raw[0] != 0) && ++gid_index != 0);
}

Side::~Side() {
  if (qp != nullptr) ibv_destroy_qp(qp);
  if (cq != nullptr) ibv_destroy_cq(cq);
  if (channel != nullptr) ibv_destroy_comp_channel(channel);
  ibv_dereg_mr(mr);
  ibv_dealloc_pd(pd);
  ibv_close_device(context);
}

int Side::to_init(const Setup& setup) const {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_INIT;
  attributes.port_num = 1;
  attributes.qkey = setup.qkey;
  attributes.qp_access_flags = static_cast<unsigned>(setup.access);
  const int own = qp->qp_type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS;
  return ibv_modify_qp(qp, &attributes, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | own);
}

ibv_ah_attr Side::address(const Setup& setup) const {
  ibv_ah_attr attributes{};
  attributes.is_global = 1;
  attributes.port_num = 1;
  attributes.grh.dgid = setup.peer_address != nullptr ? mapped(setup.peer_address) : gid;
  attributes.grh.hop_limit = 64;
  attributes.grh.sgid_index = gid_index;
  return attributes;
}

int Side::to_rtr(std::uint32_t peer, const Setup& setup) const {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_RTR;
  attributes.path_mtu = setup.mtu;
  attributes.dest_qp_num = setup.dest_qpn != 0 ? setup.dest_qpn : peer;
  attributes.rq_psn = setup.rq_psn;
  attributes.max_dest_rd_atomic = setup.max_dest_rd_atomic;
  attributes.min_rnr_timer = 1;
  attributes.ah_attr = address(setup);
  int mask = IBV_QP_STATE;
  if (qp->qp_type != IBV_QPT_UD) mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
  if (qp->qp_type == IBV_QPT_RC) mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
  return ibv_modify_qp(qp, &attributes, mask);
}

int Side::to_rts(const Setup& setup) const {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_RTS;
  attributes.sq_psn = setup.sq_psn;
  attributes.timeout = setup.timeout;
  attributes.retry_cnt = setup.retries;
  attributes.rnr_retry = setup.rnr_retries;
  attributes.max_rd_atomic = setup.max_rd_atomic;
  int mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
  if (qp->qp_type == IBV_QPT_RC)
    mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
  return ibv_modify_qp(qp, &attributes, mask);
}

ibv_mr* Side::other_mr(ibv_pd* domain, int access, std::size_t bytes) {
  ibv_mr* made = ibv_reg_mr(domain, memory.data(), bytes, access);
  must(made != nullptr, "cannot register");
  return made;
}

ibv_sge Side::sge(std::uint32_t bytes) const {
  return {reinterpret_cast<std::uintptr_t>(memory.data()), bytes, mr->lkey};
}

int Side::receive(std::uint64_t wr_id, std::uint32_t bytes) const {
  ibv_sge list = sge(bytes);
  ibv_recv_wr wr{}, *bad = nullptr;
  wr.wr_id = wr_id;
  wr.sg_list = &list;
  wr.num_sge = 1;
  return ibv_post_recv(qp, &wr, &bad);
}

int Side::receive(ibv_sge list) const {
  ibv_recv_wr wr{}, *bad = nullptr;
  wr.wr_id = kReceiveId;
  wr.sg_list = &list;
  wr.num_sge = 1;
  return ibv_post_recv(qp, &wr, &bad);
}

int Side::send(std::uint32_t bytes, ibv_send_wr request) const { return send_from(sge(bytes), request); }

int Side::send_from(ibv_sge list, ibv_send_wr request) const {
  ibv_send_wr* bad = nullptr;
  request.wr_id = kSendId;
  request.sg_list = &list;
  if (request.num_sge == 0) request.num_sge = 1;
  if (request.opcode == IBV_WR_RDMA_WRITE && request.wr.rdma.rkey == 0) request.opcode = IBV_WR_SEND;
  request.send_flags |= IBV_SEND_SIGNALED;
  return ibv_post_send(qp, &request, &bad);
}

ibv_wc Side::completion() const {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  ibv_wc wc{};
  while (std::chrono::steady_clock::now() < deadline) {
    if (ibv_poll_cq(cq, 1, &wc) == 1) return wc;
  }
  give_up("a completion did not come");
}

void Side::settle() const {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(200);
  ibv_wc wc{};
  while (std::chrono::steady_clock::now() < deadline) ibv_poll_cq(cq, 1, &wc);
}

Scene::Scene(ibv_qp_type type, const Setup& of_a, const Setup& of_b) : a(type), b(type) {
  must(a.to_init(of_a) == 0 && b.to_init(of_b) == 0, "INIT");
  must(a.to_rtr(b.qpn(), of_a) == 0 && b.to_rtr(a.qpn(), of_b) == 0, "RTR");
  must(a.to_rts(of_a) == 0 && b.to_rts(of_b) == 0, "RTS");
}

ibv_send_wr write_to(std::uint64_t address, std::uint32_t rkey) {
  ibv_send_wr wr{};
  wr.opcode = IBV_WR_RDMA_WRITE;
  wr.wr.rdma.remote_addr = address;
  wr.wr.rdma.rkey = rkey;
  return wr;
}

ibv_send_wr with_opcode(ibv_wr_opcode opcode) {
  ibv_send_wr wr{};
  wr.opcode = opcode;
  return wr;
}

}  // namespace reasons
