#include "tests/unit/rnic/fixture.h"

#include <poll.h>

#include <mutex>

#include "base/reason_id.h"

namespace softrnic::rnic::test {
namespace {

std::mutex explanations_mutex;

void keep(const Explanation& explanation) {
  const std::lock_guard lock(explanations_mutex);
  explanations().push_back(explanation);
}

void add(Change& change, int bits) { change.mask |= bits; }

void add_rtr(Change& change, ibv_qp_type type, Qpn peer) {
  if (type == IBV_QPT_UD) return;
  ibv_qp_attr& a = change.attributes;
  a.ah_attr = address_of(ipv4(1));
  a.path_mtu = IBV_MTU_1024;
  a.dest_qp_num = peer.value;
  a.rq_psn = 100;
  add(change, IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN);
  if (type != IBV_QPT_RC && type != IBV_QPT_XRC_RECV) return;
  a.max_dest_rd_atomic = 4;
  a.min_rnr_timer = 12;
  add(change, IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
}

void add_rts(Change& change, ibv_qp_type type) {
  ibv_qp_attr& a = change.attributes;
  a.sq_psn = 100;
  add(change, IBV_QP_SQ_PSN);
  if (type == IBV_QPT_UC || type == IBV_QPT_UD) return;
  a.timeout = 14;
  add(change, IBV_QP_TIMEOUT);
  if (type == IBV_QPT_XRC_RECV) return;
  a.retry_cnt = 2;
  a.rnr_retry = 3;
  a.max_rd_atomic = 4;
  add(change, IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC);
}

}  // namespace

std::vector<Explanation>& explanations() {
  static std::vector<Explanation> all;
  return all;
}

std::shared_ptr<device::DeviceInfo> make_device() {
  auto device = std::make_shared<device::DeviceInfo>();
  device->name = "soft0";
  device->guid = 0x0200'00ff'fe00'0001;
  device->port = {
      .up = true, .netdev_mtu = 9000, .active_mtu = 4096, .speed_mbps = 10'000, .gids = {}, .addresses = {}};
  device->port.gids.resize(4);
  device->port.gids[0].gid.raw[0] = std::byte{0xfe};
  device->port.gids[0].gid.raw[1] = std::byte{0x80};
  device->port.gids[0].gid.raw[15] = std::byte{1};
  device->port.gids[1].gid = ipv4(1);
  return device;
}

ibv_ah_attr address_of(const wire::Gid& gid) {
  ibv_ah_attr a{};
  a.is_global = 1;
  a.port_num = 1;
  a.grh.sgid_index = 1;
  std::memcpy(a.grh.dgid.raw, gid.raw.data(), sizeof a.grh.dgid.raw);
  return a;
}

Change change_to(ibv_qp_state state, ibv_qp_type type, Qpn peer) {
  Change change;
  change.attributes.qp_state = state;
  add(change, IBV_QP_STATE);
  if (state == IBV_QPS_INIT) {
    change.attributes.port_num = 1;
    change.attributes.qkey = 0x1234;
    change.attributes.qp_access_flags =
        IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
    add(change, IBV_QP_PKEY_INDEX | IBV_QP_PORT | (type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS));
  }
  if (state == IBV_QPS_RTR) add_rtr(change, type, peer);
  if (state == IBV_QPS_RTS) add_rts(change, type);
  return change;
}

void RnicTest::SetUp() {
  explanations().clear();
  set_explain_sink(&keep);
  pd = std::move(*ProtectionDomain::create(context));
  cq = make_cq();
}

void RnicTest::TearDown() {
  EXPECT_TRUE(cq->destroy());
  EXPECT_TRUE(pd->destroy());
  set_explain_sink(nullptr);
}

std::unique_ptr<CompletionQueue> RnicTest::make_cq(int entries, CompletionChannel* channel) {
  auto made = CompletionQueue::create(context, {.entries = entries, .channel = channel});
  EXPECT_TRUE(made);
  return std::move(*made);
}

std::unique_ptr<SharedReceiveQueue> RnicTest::make_srq(std::uint32_t wrs) {
  ibv_srq_attr attributes{wrs, 2, 0};
  auto made = SharedReceiveQueue::create(*pd, attributes);
  EXPECT_TRUE(made);
  return std::move(*made);
}

QueuePairInit RnicTest::init(ibv_qp_type type) {
  QueuePairInit wanted;
  wanted.type = type;
  wanted.send_cq = wanted.recv_cq = cq.get();
  wanted.cap = {8, 8, 2, 2, 64};
  return wanted;
}

std::unique_ptr<QueuePair> RnicTest::make_qp(QueuePairInit wanted) {
  auto made = QueuePair::create(*pd, wanted);
  EXPECT_TRUE(made);
  return std::move(*made);
}

std::unique_ptr<QueuePair> RnicTest::make_qp(ibv_qp_type type) { return make_qp(init(type)); }

void RnicTest::bring(QueuePair& qp, ibv_qp_state state, Qpn peer) {
  if (state == IBV_QPS_RESET) return;
  if (state == IBV_QPS_ERR) {
    const Change change = change_to(state, qp.type());
    EXPECT_TRUE(qp.modify(change.attributes, change.mask));
    return;
  }
  const ibv_qp_state way[] = {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS, state};
  for (const ibv_qp_state next : way) {
    if (next == IBV_QPS_SQE) {  // a send with an unknown lkey
      auto ah = std::move(*AddressHandle::create(*pd, address_of(ipv4(1))));
      ibv_sge sge{};
      ibv_send_wr wr = send_wr(IBV_WR_SEND, nullptr, nullptr, 0, sge);
      sge = {0x1000, 8, 0xbad};
      wr.sg_list = &sge;
      wr.num_sge = 1;
      wr.wr.ud.ah = ah.get();
      ibv_send_wr* bad = nullptr;
      EXPECT_TRUE(qp.post_send(&wr, &bad));
      ah->destroy();
    } else {
      const Change change = change_to(next, qp.type(), peer);
      const auto ok = qp.modify(change.attributes, change.mask);
      EXPECT_TRUE(ok) << describe(ok.error().reason);
    }
    if (next == state) break;
  }
  EXPECT_EQ(state_of(qp), state);
}

ibv_qp_state RnicTest::state_of(QueuePair& qp) {
  ibv_qp_attr attributes;
  QueuePairInit made;
  qp.query(attributes, made);
  return attributes.qp_state;
}

std::unique_ptr<MemoryRegion> RnicTest::make_mr(void* address, std::size_t length, int access) {
  auto made = MemoryRegion::create(
      *pd, {address, length, reinterpret_cast<std::uintptr_t>(address), static_cast<std::uint32_t>(access)});
  EXPECT_TRUE(made);
  return std::move(*made);
}

std::vector<ibv_wc> RnicTest::poll(CompletionQueue& queue) {
  std::vector<ibv_wc> all(64);
  all.resize(static_cast<std::size_t>(queue.poll(64, all.data())));
  return all;
}

bool RnicTest::fd_ready(int fd) {
  pollfd p{fd, POLLIN, 0};
  return ::poll(&p, 1, 0) == 1;
}

AsyncEvent RnicTest::next_event() {
  if (!event_waits()) {
    ADD_FAILURE() << "no asynchronous event";
    return {};
  }
  const AsyncEvent event = *context.events().get();
  context.events().acknowledge(event);
  return event;
}

ReasonId RnicTest::only_reason() {
  EXPECT_EQ(explanations().size(), 1U);
  const ReasonId id = explanations().empty() ? ReasonId::none : explanations().back().reason.id;
  explanations().clear();
  return id;
}

ibv_send_wr send_wr(ibv_wr_opcode opcode, const MemoryRegion* mr, void* address, std::uint32_t length,
                    ibv_sge& sge) {
  ibv_send_wr wr{};
  wr.opcode = opcode;
  wr.send_flags = IBV_SEND_SIGNALED;
  if (mr == nullptr) return wr;
  sge = {reinterpret_cast<std::uintptr_t>(address), length, mr->key().value};
  wr.sg_list = &sge;
  wr.num_sge = 1;
  return wr;
}

ibv_recv_wr recv_wr(std::uint64_t id, const MemoryRegion* mr, void* address, std::uint32_t length,
                    ibv_sge& sge) {
  ibv_recv_wr wr{};
  wr.wr_id = id;
  if (mr == nullptr) return wr;
  sge = {reinterpret_cast<std::uintptr_t>(address), length, mr->key().value};
  wr.sg_list = &sge;
  wr.num_sge = 1;
  return wr;
}

}  // namespace softrnic::rnic::test
