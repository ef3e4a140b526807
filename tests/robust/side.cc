#include "side.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>

#include "patience.h"

namespace softrnic::robust {
namespace {

constexpr std::size_t kWords = Side::kMessage / sizeof(std::uint32_t);
/// `fd` (-1: none) is open as long as the memory is there.
Side::Memory map(int flags, int fd) {
  void* const place = mmap(nullptr, Side::kBytes, PROT_READ | PROT_WRITE, flags, fd, 0);
  const auto unmap = [fd](std::uint32_t* words) {
    munmap(words, Side::kBytes);
    if (fd >= 0) ::close(fd);
  };
  if (place != MAP_FAILED) return {static_cast<std::uint32_t*>(place), unmap};
  if (fd >= 0) ::close(fd);
  return nullptr;
}

std::uint32_t word(std::uint32_t number, std::uint32_t salt, std::size_t at) {
  return (number * 2654435761U) ^ (salt * 40503U) ^ static_cast<std::uint32_t>(at * 2246822519U);
}

ibv_sge sge_at(const std::uint32_t* words, const ibv_mr* mr) {
  return {reinterpret_cast<std::uintptr_t>(words), Side::kMessage, mr->lkey};
}

bool to_init(ibv_qp* qp) {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_INIT;
  attributes.port_num = 1;
  attributes.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
  return ibv_modify_qp(qp, &attributes,
                       IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0;
}

bool to_rtr(ibv_qp* qp, const Card& peer) {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_RTR;
  attributes.path_mtu = IBV_MTU_1024;
  attributes.dest_qp_num = peer.qpn;
  attributes.max_dest_rd_atomic = 4;
  attributes.min_rnr_timer = 1;
  attributes.ah_attr.is_global = 1;
  attributes.ah_attr.grh.dgid = peer.gid;
  attributes.ah_attr.grh.hop_limit = 64;
  attributes.ah_attr.port_num = 1;
  return ibv_modify_qp(qp, &attributes,
                       IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                           IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) == 0;
}

bool to_rts(ibv_qp* qp, std::uint8_t timeout) {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_RTS;
  attributes.timeout = timeout;
  attributes.retry_cnt = 7;
  attributes.rnr_retry = 7;
  attributes.max_rd_atomic = 4;
  return ibv_modify_qp(qp, &attributes,
                       IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                           IBV_QP_MAX_QP_RD_ATOMIC) == 0;
}

ibv_context* open_first() {
  ibv_device** list = ibv_get_device_list(nullptr);
  ibv_context* context = list != nullptr && list[0] != nullptr ? ibv_open_device(list[0]) : nullptr;
  if (list != nullptr) ibv_free_device_list(list);
  return context;
}

template <typename T, typename Destroy>
bool release(T*& object, Destroy destroy) {
  const bool done = object == nullptr || destroy(object) == 0;
  object = nullptr;
  return done;
}

}  // namespace

Side::Memory Side::own_memory() { return map(MAP_PRIVATE | MAP_ANONYMOUS, -1); }

Side::Memory Side::shared_memory() {
  const int fd = memfd_create("side", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) return nullptr;
  if (ftruncate(fd, kBytes) == 0 && fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK) == 0) return map(MAP_SHARED, fd);
  ::close(fd);
  return nullptr;
}

bool Side::open() {
  if (memory_ == nullptr) return false;
  context = open_first();
  if (context == nullptr || ibv_query_gid(context, 1, 0, &gid) != 0) return false;
  pd = ibv_alloc_pd(context);
  cq = pd != nullptr ? ibv_create_cq(context, 4 * kDepth, nullptr, nullptr, 0) : nullptr;
  if (cq == nullptr) return false;
  mr = ibv_reg_mr(pd, memory_, kBytes,
                  IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
  if (mr == nullptr) return false;
  ibv_qp_init_attr init{};
  init.send_cq = init.recv_cq = cq;
  init.cap = {.max_send_wr = kDepth,
              .max_recv_wr = kDepth,
              .max_send_sge = 1,
              .max_recv_sge = 1,
              .max_inline_data = 0};
  init.qp_type = IBV_QPT_RC;
  qp = ibv_create_qp(pd, &init);
  return qp != nullptr;
}

bool Side::close() {
  bool done = release(qp, ibv_destroy_qp);
  done = release(mr, [](ibv_mr* region) { return ibv_dereg_mr(region); }) && done;
  done = release(cq, ibv_destroy_cq) && done;
  done = release(pd, ibv_dealloc_pd) && done;
  return release(context, ibv_close_device) && done;
}

Card Side::card() const { return {qp->qp_num, mr->rkey, reinterpret_cast<std::uintptr_t>(memory_), gid}; }

bool Side::connect(const Card& peer, std::uint8_t timeout, unsigned receives) {
  bool done = to_init(qp);
  for (unsigned slot = 0; slot < receives; ++slot) done = done && post_receive(slot);
  return done && to_rtr(qp, peer) && to_rts(qp, timeout);
}

bool Side::change_timeout(std::uint8_t timeout) {
  ibv_qp_attr attributes{};
  attributes.timeout = timeout;
  attributes.qp_state = IBV_QPS_SQD;
  if (ibv_modify_qp(qp, &attributes, IBV_QP_STATE) != 0) return false;
  if (ibv_modify_qp(qp, &attributes, IBV_QP_STATE | IBV_QP_TIMEOUT) != 0) return false;
  attributes.qp_state = IBV_QPS_RTS;
  return ibv_modify_qp(qp, &attributes, IBV_QP_STATE) == 0;
}

bool Side::post_receive(unsigned slot) {
  ibv_sge sge = sge_at(memory_ + slot * kWords, mr);
  ibv_recv_wr wr{}, *bad = nullptr;
  wr.wr_id = slot;
  wr.sg_list = &sge;
  wr.num_sge = 1;
  return ibv_post_recv(qp, &wr, &bad) == 0;
}

bool Side::post_send(std::uint32_t number, std::uint32_t salt) {
  std::uint32_t* const out = memory_ + (kDepth + number % kDepth) * kWords;
  for (std::size_t i = 0; i < kWords; ++i) out[i] = word(number, salt, i);
  ibv_sge sge = sge_at(out, mr);
  ibv_send_wr wr{}, *bad = nullptr;
  wr.wr_id = number;
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.opcode = IBV_WR_SEND;
  wr.send_flags = IBV_SEND_SIGNALED;
  return ibv_post_send(qp, &wr, &bad) == 0;
}

bool Side::holds(unsigned slot, std::uint32_t number, std::uint32_t salt) const {
  const std::uint32_t* const in = memory_ + slot * kWords;
  for (std::size_t i = 0; i < kWords; ++i)
    if (in[i] != word(number, salt, i)) return false;
  return true;
}

bool Side::next(ibv_wc& wc, int seconds) {
  Patience patience{std::chrono::seconds(seconds)};
  for (;;) {
    for (int tried = 0; tried < 64; ++tried) {
      const int got = ibv_poll_cq(cq, 1, &wc);
      if (got != 0) return got > 0;
    }
    if (patience.over()) return false;
  }
}

int exchange(Side& side, std::uint32_t rounds, std::uint32_t salt, std::uint32_t peer_salt) {
  constexpr std::uint32_t kAhead = Side::kDepth / 2;
  std::uint32_t posted = 0, sent = 0, received = 0;
  while (sent < rounds || received < rounds) {
    // not further than the peer's receives reach: it has sent as many as it got
    while (posted < rounds && posted < sent + kAhead && posted < received + kAhead) {
      if (!side.post_send(posted++, salt)) return -1;
    }
    ibv_wc wc{};
    if (!side.next(wc)) return -1;
    if (wc.status != IBV_WC_SUCCESS) return 1 + wc.status;
    if (wc.opcode == IBV_WC_SEND) {
      ++sent;
      continue;
    }
    const auto slot = static_cast<unsigned>(wc.wr_id);
    if (wc.byte_len != Side::kMessage || !side.holds(slot, received++, peer_salt)) return -1;
    if (!side.post_receive(slot)) return -1;
  }
  return 0;
}

bool Couple::open() { return a.open() && b.open() && a.connect(b.card()) && b.connect(a.card()); }

int Couple::talk(std::uint32_t number) {
  constexpr std::uint32_t kSalt = 7;
  if (!a.post_send(number, kSalt)) return -1;
  for (Side* side : {&a, &b}) {
    ibv_wc wc{};
    if (!side->next(wc)) return -1;
    if (wc.status != IBV_WC_SUCCESS) return 1 + wc.status;
    if (side == &a) continue;
    const auto slot = static_cast<unsigned>(wc.wr_id);
    if (wc.byte_len != Side::kMessage || !b.holds(slot, number, kSalt) || !b.post_receive(slot)) return -1;
  }
  return 0;
}

}  // namespace softrnic::robust
