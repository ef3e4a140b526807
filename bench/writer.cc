#include "bench/writer.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

namespace bench {

using interop::require;

namespace {

constexpr std::size_t kMostQps = 4096;

bool set(Options& o, const std::string& word, const char* value) {
  const auto number = std::strtoull(value, nullptr, 0);
  if (word == "--qps")
    o.qps = number;
  else if (word == "--size")
    o.size = number;
  else if (word == "--memory")
    o.memory = number;
  else if (word == "--offset")
    o.offset = number;
  else if (word == "--count")
    o.count = number;
  else if (word == "--then")
    o.then = number;
  else if (word == "--gid-index")
    o.gid_index = static_cast<int>(number);
  else if (word == "--port")
    o.port = static_cast<std::uint16_t>(number);
  else
    return false;
  return true;
}

/// Sealed: what might shrink under them, peers do not map.
int memory_file(std::size_t size) {
  const int fd = memfd_create("bench", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  require(fd >= 0 && ftruncate(fd, static_cast<off_t>(size)) == 0, "memfd_create");
  require(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK) == 0, "F_ADD_SEALS");
  return fd;
}

}  // namespace

Options parse(int argc, char** argv) {
  Options o;
  std::vector<std::string> rest;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--shared") {
      o.shared = true;
    } else if (word.rfind("--", 0) == 0) {
      require(i + 1 < argc && set(o, word, argv[i + 1]), "an unknown option, or one without its value");
      ++i;
    } else {
      rest.push_back(word);
    }
  }
  require(!rest.empty() && rest.size() <= 2, "SECONDS [HOST]");
  o.seconds = std::strtod(rest[0].c_str(), nullptr);
  if (rest.size() == 2) o.host = rest[1];
  if (o.initiator()) o.offset = 0;
  if (o.memory == 0) o.memory = o.qps * o.size;
  require(o.qps > 0 && o.qps <= kMostQps && o.size > 0 && o.memory >= o.size && o.offset < 4096 &&
              o.then.value_or(0) <= o.size,
          "values out of range");
  return o;
}

Memory::Memory(std::size_t size, std::size_t offset, bool shared)
    : size_(size + offset), offset_(offset), fd_(shared ? memory_file(size_) : -1) {
  void* place =
      mmap(nullptr, size_, PROT_READ | PROT_WRITE, shared ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS, fd_, 0);
  require(place != MAP_FAILED, "mmap");
  pages_ = static_cast<std::byte*>(place);
  std::memset(pages_, 0, size_);
}

Memory::~Memory() {
  (void)munmap(pages_, size_);
  if (fd_ >= 0) (void)close(fd_);
}

Side::Side(const Options& o) : gid_index_(o.gid_index), memory_(o.memory, o.offset, o.shared) {
  int count = 0;
  ibv_device** devices = ibv_get_device_list(&count);
  require(devices != nullptr && count > 0, "ibv_get_device_list");
  context_ = ibv_open_device(devices[0]);
  ibv_free_device_list(devices);
  require(context_ != nullptr && (pd_ = ibv_alloc_pd(context_)) != nullptr, "ibv_open_device");
  cq_ = ibv_create_cq(context_, static_cast<int>(o.qps * kDepth), nullptr, nullptr, 0);
  mr_ = ibv_reg_mr(pd_, memory_.data(), memory_.size(), IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
  require(cq_ != nullptr && mr_ != nullptr, "ibv_create_cq, ibv_reg_mr");
  for (std::size_t i = 0; i < o.qps; ++i) {
    ibv_qp_init_attr wanted{};
    wanted.qp_type = IBV_QPT_RC;
    wanted.sq_sig_all = 1;
    wanted.send_cq = wanted.recv_cq = cq_;
    wanted.cap = {kDepth, 1, 1, 1, 0};
    qps_.push_back(ibv_create_qp(pd_, &wanted));
    require(qps_.back() != nullptr, "ibv_create_qp");
  }
}

Side::~Side() {
  for (ibv_qp* qp : qps_) (void)ibv_destroy_qp(qp);
  (void)ibv_dereg_mr(mr_);
  (void)ibv_destroy_cq(cq_);
  (void)ibv_dealloc_pd(pd_);
  (void)ibv_close_device(context_);
}

Address Side::start(interop::Channel& channel) {
  Address mine{reinterpret_cast<std::uint64_t>(memory_.data()), mr_->rkey, {}};
  require(ibv_query_gid(context_, 1, gid_index_, &mine.gid) == 0, "ibv_query_gid");
  const Address peer = channel.exchange(mine);
  for (ibv_qp* qp : qps_) connect(qp, channel.exchange(qp->qp_num), peer.gid);
  channel.barrier();
  return peer;
}

void Side::connect(ibv_qp* qp, std::uint32_t peer_qpn, const ibv_gid& peer) {
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
  attr.ah_attr.grh.dgid = peer;
  attr.ah_attr.grh.sgid_index = static_cast<std::uint8_t>(gid_index_);
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

void Side::post(std::size_t qp_index, const Address& peer, std::size_t offset, std::size_t size) {
  ibv_sge sge{reinterpret_cast<std::uint64_t>(memory_.data()) + offset, static_cast<std::uint32_t>(size),
              mr_->lkey};
  ibv_send_wr wr{}, *bad = nullptr;
  wr.wr_id = qp_index;
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.opcode = IBV_WR_RDMA_WRITE;
  wr.wr.rdma = {peer.address + offset, peer.rkey};
  require(ibv_post_send(qps_[qp_index], &wr, &bad) == 0, "ibv_post_send");
}

std::size_t Side::poll(ibv_wc* done, std::size_t room) {
  const int n = ibv_poll_cq(cq_, static_cast<int>(room), done);
  require(n >= 0, "ibv_poll_cq");
  for (int i = 0; i < n; ++i) require(done[i].status == IBV_WC_SUCCESS, ibv_wc_status_str(done[i].status));
  return static_cast<std::size_t>(n);
}

}  // namespace bench
