// What a lane answers to a local peer that has resolved it, and that it has not resolved yet.
#include <cstring>

#include "rnic/completion_queue.h"
#include "rnic/context.h"
#include "rnic/memory_region.h"
#include "rnic/protection_domain.h"
#include "rnic/queue_pair.h"
#include "tests/unit/engine/lane_with_peers_fixture.h"
#include "tests/unit/engine/one_lane.h"
#include "transport/ib/rx_packet.h"
#include "wire/opcode.h"

namespace softrnic::engine::test {
namespace {

constexpr unsigned kAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
constexpr std::uint32_t kMemoryBytes = 64;

std::shared_ptr<device::DeviceInfo> device() {
  auto info = std::make_shared<device::DeviceInfo>();
  info->port = {
      .up = true, .netdev_mtu = 65536, .active_mtu = 4096, .speed_mbps = 0, .gids = {}, .addresses = {}};
  info->port.gids.resize(1);
  info->port.gids[0].gid = own_gid();
  return info;
}

/// The lane has a queue pair that is connected to one of the local peer's.
class UnmetVisitor : public LaneWithPeers {
 protected:
  UnmetVisitor() {
    const auto base = reinterpret_cast<std::uint64_t>(memory.data());
    mr = std::move(*rnic::MemoryRegion::create(*pd, {memory.data(), memory.size(), base, kAccess}));
    rnic::QueuePairInit init;
    init.type = IBV_QPT_RC;
    init.send_cq = init.recv_cq = cq.get();
    init.cap = {
        .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = 0};
    qp = std::move(*rnic::QueuePair::create(*pd, init));
    connect();
  }
  ~UnmetVisitor() override {
    EXPECT_TRUE(qp->destroy());
    qp.reset();
    EXPECT_TRUE(mr->destroy());
    EXPECT_TRUE(cq->destroy());
    EXPECT_TRUE(pd->destroy());
  }
  void connect() {
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_INIT;
    attr.port_num = attr.ah_attr.port_num = 1;
    attr.qp_access_flags = kAccess;
    EXPECT_TRUE(qp->modify(attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
    attr.qp_state = IBV_QPS_RTR;
    attr.path_mtu = IBV_MTU_1024;
    attr.dest_qp_num = Qpn::of(kTheirs, 5).value;
    attr.max_dest_rd_atomic = 4;
    attr.ah_attr.is_global = 1;
    std::memcpy(attr.ah_attr.grh.dgid.raw, own_gid().raw.data(), sizeof attr.ah_attr.grh.dgid.raw);
    EXPECT_TRUE(qp->modify(attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                                     IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER));
  }
  /// The local peer's queue pair READs.
  void serve_read() {
    ib::RxPacket& rx = network.comes.emplace_back();
    rx.packet.headers.bth.opcode = wire::Opcode::rc_read_request;
    rx.packet.headers.bth.destination = qp->qpn();
    rx.packet.headers.bth.pkey = wire::kDefaultPkey;
    rx.packet.headers.reth = {reinterpret_cast<std::uint64_t>(memory.data()), mr->key(), kMemoryBytes};
    rx.packet.info = &wire::opcode_info(wire::Opcode::rc_read_request);
    rx.source = rx.destination = own_gid();
    lane->service(true);
  }
  /// Whether a packet lies in the ring from this lane to the local peer's.
  bool ring_has_packet() {
    return samehost::RingReader(*local_peer.share->ring(local_peer.slot.index, kOwn)).any();
  }

  std::vector<std::byte> memory = std::vector<std::byte>(kMemoryBytes);
  OneLane lanes{&*lane};
  rnic::Context context{device(), lanes};
  std::unique_ptr<rnic::ProtectionDomain> pd = std::move(*rnic::ProtectionDomain::create(context));
  std::unique_ptr<rnic::CompletionQueue> cq =
      std::move(*rnic::CompletionQueue::create(context, {.entries = 8}));
  std::unique_ptr<rnic::MemoryRegion> mr;
  std::unique_ptr<rnic::QueuePair> qp;
};

TEST_F(UnmetVisitor, GetsWhatItReadsThroughMemoryOnceItIsMet) {
  serve_read();
  EXPECT_EQ(network.gone, 0U);
  EXPECT_TRUE(lane->resolve_pending());
  EXPECT_EQ(network.gone, 0U);
  EXPECT_TRUE(ring_has_packet());
}

TEST_F(UnmetVisitor, GetsItByPacketsAtOnceIfItShowsNothing) {
  shares = false;
  serve_read();
  EXPECT_TRUE(lane->resolve_pending());
  EXPECT_EQ(network.gone, 1U);
}

TEST_F(UnmetVisitor, GetsItByPacketsIfTheDaemonTakesTooLong) {
  serve_read();
  ASSERT_TRUE(gets_to(*qp->window(), false));
  EXPECT_EQ(network.gone, 1U);
}

}  // namespace
}  // namespace softrnic::engine::test
