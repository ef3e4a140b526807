#include "tests/interop/verify/peer.h"

#include <cstdio>

namespace interop {
namespace {

constexpr int kAllAccess =
    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
constexpr std::uint32_t kQKey = 0x11111111;

ibv_mtu mtu_code(std::uint32_t bytes) {
  int code = IBV_MTU_256;
  for (std::uint32_t size = 256; size < bytes && code < IBV_MTU_4096; size *= 2) ++code;
  return static_cast<ibv_mtu>(code);
}

}  // namespace

ibv_ah_attr address_of(const ibv_gid& gid, int gid_index) {
  ibv_ah_attr attr{};
  attr.is_global = 1;
  attr.port_num = 1;
  attr.grh.dgid = gid;
  attr.grh.sgid_index = static_cast<std::uint8_t>(gid_index);
  attr.grh.hop_limit = 64;
  return attr;
}

Region::Region(ibv_pd* pd, std::size_t size, int access)
    : memory_(size, kUntouched), mr_(ibv_reg_mr(pd, memory_.data(), size, access)) {
  require(mr_ != nullptr, "ibv_reg_mr");
}

Region::~Region() { require(ibv_dereg_mr(mr_) == 0, "ibv_dereg_mr"); }

ibv_sge Region::sge(std::size_t offset, std::size_t size) const {
  return {reinterpret_cast<std::uintptr_t>(memory_.data()) + offset, static_cast<std::uint32_t>(size),
          mr_->lkey};
}

Device::Device(int gid_index) : gid_index_(gid_index) {
  int count = 0;
  ibv_device** list = ibv_get_device_list(&count);
  require(list != nullptr && count > 0, "no RDMA device");
  context_ = ibv_open_device(list[0]);
  require(context_ != nullptr, "ibv_open_device");
  ibv_free_device_list(list);
  pd_ = ibv_alloc_pd(context_);
  require(pd_ != nullptr, "ibv_alloc_pd");
}

Device::~Device() {
  require(ibv_dealloc_pd(pd_) == 0, "ibv_dealloc_pd");
  require(ibv_close_device(context_) == 0, "ibv_close_device");
}

ibv_gid Device::gid() const {
  ibv_gid gid{};
  require(ibv_query_gid(context_, 1, gid_index_, &gid) == 0, "ibv_query_gid");
  return gid;
}

std::uint32_t Device::active_mtu() const {
  ibv_port_attr port{};
  require(ibv_query_port(context_, 1, &port) == 0, "ibv_query_port");
  return 128u << port.active_mtu;
}

std::size_t receive_room(const Settings& settings) { return settings.max_size + 2 * kGuard + kGrhBytes; }

Peer::Peer(const Device& device, ibv_qp_type type, const Settings& settings, Channel& channel)
    : device_(device),
      type_(type),
      slots_(device.pd(), slot_memory(settings), kAllAccess),
      receives_(device.pd(), kBatch * receive_room(settings), IBV_ACCESS_LOCAL_WRITE),
      cq_(ibv_create_cq(device.context(), 4 * kBatch, nullptr, nullptr, 0)) {
  require(cq_ != nullptr, "ibv_create_cq");
  ibv_qp_init_attr wanted{};
  wanted.qp_type = type;
  wanted.send_cq = wanted.recv_cq = cq_;
  wanted.cap = {kBatch, kBatch, 3, 3, kInline};
  qp_ = ibv_create_qp(device.pd(), &wanted);
  require(qp_ != nullptr, "ibv_create_qp");
  local_ = {reinterpret_cast<std::uintptr_t>(slots_.all().data()),
            slots_.mr()->rkey,
            qp_->qp_num,
            static_cast<std::uint32_t>(settings.seed * 0x9e3779b1u) & 0xffffff,
            kQKey,
            device.gid()};
  to_init(settings);
  remote_ = channel.exchange(local_);
  to_ready_to_receive(settings);
  to_ready_to_send(settings);
  channel.barrier();
}

Peer::~Peer() {
  if (ah_) require(ibv_destroy_ah(ah_) == 0, "ibv_destroy_ah");
  require(ibv_destroy_qp(qp_) == 0, "ibv_destroy_qp");
  require(ibv_destroy_cq(cq_) == 0, "ibv_destroy_cq");
}

void Peer::to_init(const Settings&) {
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_INIT;
  attr.port_num = 1;
  attr.qkey = kQKey;
  attr.qp_access_flags = kAllAccess;
  const int mask =
      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | (datagrams() ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS);
  require(ibv_modify_qp(qp_, &attr, mask) == 0, "ibv_modify_qp to INIT");
}

void Peer::to_ready_to_receive(const Settings& settings) {
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_RTR;
  attr.path_mtu = mtu_code(settings.mtu);
  attr.dest_qp_num = remote_.qpn;
  attr.rq_psn = remote_.psn;
  attr.max_dest_rd_atomic = 4;
  attr.min_rnr_timer = 1;
  attr.ah_attr = address_of(remote_.gid, device_.gid_index());
  int mask = IBV_QP_STATE;
  if (!datagrams()) mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
  if (!lossy()) mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
  require(ibv_modify_qp(qp_, &attr, mask) == 0, "ibv_modify_qp to RTR");
  if (datagrams()) {
    ah_ = ibv_create_ah(device_.pd(), &attr.ah_attr);
    require(ah_ != nullptr, "ibv_create_ah");
  }
}

void Peer::to_ready_to_send(const Settings& settings) {
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_RTS;
  attr.sq_psn = local_.psn;
  attr.timeout = settings.ack_timeout;
  attr.retry_cnt = 7;
  attr.rnr_retry = 7;
  attr.max_rd_atomic = 4;
  int mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
  if (!lossy()) mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
  require(ibv_modify_qp(qp_, &attr, mask) == 0, "ibv_modify_qp to RTS");
}

std::span<const ibv_wc> Peer::poll() {
  const int count = ibv_poll_cq(cq_, 16, completions_);
  require(count >= 0, "ibv_poll_cq");
  for (int i = 0; i < count; ++i) {
    const ibv_wc& wc = completions_[i];
    if (wc.status != IBV_WC_SUCCESS) {
      std::fprintf(stderr, "completion of %llu: %s\n", static_cast<unsigned long long>(wc.wr_id),
                   ibv_wc_status_str(wc.status));
      require(false, "a completion");
    }
  }
  return {completions_, static_cast<std::size_t>(count)};
}

}  // namespace interop
