// Queue pairs and completion queues on a fake lane, for what a lane is made of.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "engine/qp_table.h"
#include "rnic/context.h"
#include "rnic/protection_domain.h"
#include "tests/unit/rnic/fake_lane.h"

namespace softrnic::engine::test {

class QueuePairs : public testing::Test {
 protected:
  using OwnedQp = std::unique_ptr<rnic::QueuePair>;

  ~QueuePairs() override {
    EXPECT_TRUE(cq->destroy());
    EXPECT_TRUE(pd->destroy());
  }
  std::unique_ptr<rnic::CompletionQueue> make_cq(int entries) {
    auto made = rnic::CompletionQueue::create(context, {.entries = entries});
    EXPECT_TRUE(made);
    return std::move(*made);
  }
  OwnedQp make_qp() {
    rnic::QueuePairInit init;
    init.send_cq = init.recv_cq = cq.get();
    init.cap.max_send_wr = 8;
    init.signal_all = true;
    auto made = rnic::QueuePair::create(*pd, init);
    EXPECT_TRUE(made);
    return std::move(*made);
  }
  /// A queue pair in its place.
  struct Placed {
    explicit Placed(OwnedQp made) : qp(std::move(made)) { slot.qp = qp.get(); }
    ~Placed() { EXPECT_TRUE(qp->destroy()); }
    Placed(const Placed&) = delete;
    Placed& operator=(const Placed&) = delete;
    OwnedQp qp;
    QpSlot slot;
  };
  /// RESET to RTS, with a peer that counts no receives; what is posted then is sent and, as nobody answers,
  /// awaits its ACK.
  static void connect(rnic::QueuePair& qp) {
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_INIT;
    attr.port_num = 1;
    EXPECT_TRUE(qp.modify(attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
    attr.qp_state = IBV_QPS_RTR;
    attr.ah_attr.is_global = 1;
    attr.ah_attr.port_num = 1;
    attr.ah_attr.grh.dgid = {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 1}};
    attr.path_mtu = IBV_MTU_1024;
    attr.dest_qp_num = kPeer.value;
    EXPECT_TRUE(qp.modify(attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                                    IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER));
    attr.qp_state = IBV_QPS_RTS;
    attr.sq_psn = kFirstPsn;
    attr.timeout = 14;
    EXPECT_TRUE(qp.modify(attr, IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                                    IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC));
    qp.acknowledged(kFirstPsn, wire::kAckUnlimitedCredits, TimePoint{});
  }
  static void send(rnic::QueuePair& qp) {
    ibv_send_wr wr{};
    ibv_send_wr* bad = nullptr;
    wr.opcode = IBV_WR_SEND;
    EXPECT_TRUE(qp.post_send(&wr, &bad));
  }
  static std::shared_ptr<device::DeviceInfo> device() {
    auto info = std::make_shared<device::DeviceInfo>();
    info->port = {.up = true,
                  .netdev_mtu = 9000,
                  .active_mtu = 4096,
                  .speed_mbps = 10'000,
                  .gids = {},
                  .addresses = {}};
    info->port.gids.resize(1);
    info->port.gids[0].gid = wire::Gid::from_ipv4_be(0x0200000a);
    return info;
  }

  static constexpr Qpn kPeer{0x070011};
  static constexpr std::uint32_t kFirstPsn = 100;

  rnic::test::FakeLanes lanes;
  rnic::Context context{device(), lanes};
  std::unique_ptr<rnic::ProtectionDomain> pd = std::move(rnic::ProtectionDomain::create(context).value());
  std::unique_ptr<rnic::CompletionQueue> cq = make_cq(16);
};

}  // namespace softrnic::engine::test
