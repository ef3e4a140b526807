// Automatic path migration as ibv_modify_qp sets it, ibv_query_qp shows it, and events tell of it.
#include "base/reason_id.h"
#include "tests/unit/rnic/transfer_fixture.h"

namespace softrnic::rnic::test {
namespace {

class QpMigration : public TransferTest {
 protected:
  /// GID index 0, whose netdev is also the peer's.
  static Change load(ibv_mig_state state) {
    Change change;
    ibv_qp_attr& a = change.attributes;
    const wire::Gid there = make_device()->port.gids[0].gid;
    a.alt_ah_attr = address_of(there);
    a.alt_ah_attr.grh.sgid_index = 0;
    a.alt_ah_attr.grh.traffic_class = 8;
    a.alt_port_num = 1;
    a.alt_timeout = 9;
    a.path_mig_state = state;
    change.mask = IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE;
    return change;
  }
  static int set(QueuePair& qp, const Change& change) {
    return error_of(qp.modify(change.attributes, change.mask));
  }
  static int set(QueuePair& qp, ibv_mig_state state) {
    Change change;
    change.attributes.path_mig_state = state;
    change.mask = IBV_QP_PATH_MIG_STATE;
    return set(qp, change);
  }
  static ibv_qp_attr attributes_of(QueuePair& qp) {
    ibv_qp_attr attributes{};
    QueuePairInit init;
    qp.query(attributes, init);
    return attributes;
  }
  static ibv_mig_state state_of(QueuePair& qp) { return attributes_of(qp).path_mig_state; }
  void send_one() {
    receive(1, 64);
    EXPECT_EQ(run(request(IBV_WR_SEND, 8)).status, IBV_WC_SUCCESS);
    EXPECT_EQ(one(*recv_cq).status, IBV_WC_SUCCESS);
  }
  void ignore_events() {
    while (event_waits()) next_event();
  }
};

TEST_F(QpMigration, TheAlternatePathIsShown) {
  connect(IBV_QPT_RC);
  EXPECT_EQ(state_of(*a), IBV_MIG_MIGRATED);
  ASSERT_EQ(set(*a, load(IBV_MIG_REARM)), 0);
  const ibv_qp_attr shown = attributes_of(*a);
  EXPECT_EQ(shown.path_mig_state, IBV_MIG_REARM);
  EXPECT_EQ(shown.alt_ah_attr.grh.sgid_index, 0);
  EXPECT_EQ(shown.alt_ah_attr.grh.traffic_class, 8);
  EXPECT_EQ(shown.alt_port_num, 1);
  EXPECT_EQ(shown.alt_timeout, 9);
  EXPECT_EQ(shown.timeout, 14);
  EXPECT_EQ(set(*a, IBV_MIG_MIGRATED), 0);
  EXPECT_EQ(state_of(*a), IBV_MIG_MIGRATED);
  EXPECT_EQ(attributes_of(*a).ah_attr.grh.sgid_index, 1) << "a QP that is not armed stays where it is";
}

TEST_F(QpMigration, BothSidesAreArmedByTheirPackets) {
  connect(IBV_QPT_RC);
  ASSERT_EQ(set(*a, load(IBV_MIG_REARM)), 0);
  send_one();
  EXPECT_EQ(state_of(*a), IBV_MIG_REARM) << "the peer has no alternate path";
  EXPECT_EQ(state_of(*b), IBV_MIG_MIGRATED);
  ASSERT_EQ(set(*b, load(IBV_MIG_REARM)), 0);
  send_one();
  EXPECT_EQ(state_of(*a), IBV_MIG_ARMED);
  EXPECT_EQ(state_of(*b), IBV_MIG_ARMED);
  ignore_events();
}

TEST_F(QpMigration, TheProgramMigratesAndThePeerFollows) {
  connect(IBV_QPT_RC);
  for (QueuePair* qp : {a.get(), b.get()}) ASSERT_EQ(set(*qp, load(IBV_MIG_REARM)), 0);
  send_one();
  ignore_events();
  lanes.lane.changes.clear();
  ASSERT_EQ(set(*a, IBV_MIG_MIGRATED), 0);
  EXPECT_FALSE(lanes.lane.changes.empty());
  const AsyncEvent of_a = next_event();
  EXPECT_EQ(of_a.type, IBV_EVENT_PATH_MIG);
  EXPECT_EQ(of_a.target, a.get());
  EXPECT_EQ(state_of(*b), IBV_MIG_ARMED);
  send_one();
  const AsyncEvent of_b = next_event();
  EXPECT_EQ(of_b.type, IBV_EVENT_PATH_MIG);
  EXPECT_EQ(of_b.target, b.get());
  for (QueuePair* qp : {a.get(), b.get()}) {
    const ibv_qp_attr now = attributes_of(*qp);
    EXPECT_EQ(now.path_mig_state, IBV_MIG_MIGRATED);
    EXPECT_EQ(now.ah_attr.grh.sgid_index, 0);
    EXPECT_EQ(now.ah_attr.grh.traffic_class, 8);
    EXPECT_EQ(now.timeout, 9);
    EXPECT_EQ(now.alt_ah_attr.grh.sgid_index, 1) << "the way back";
    EXPECT_EQ(now.alt_timeout, 14);
    EXPECT_EQ(qp->summary().peer_gid, make_device()->port.gids[0].gid);
  }
  EXPECT_FALSE(event_waits());
}

TEST_F(QpMigration, ASilentPathIsLeft) {
  connect(IBV_QPT_RC);
  for (QueuePair* qp : {a.get(), b.get()}) ASSERT_EQ(set(*qp, load(IBV_MIG_ARMED)), 0);
  receive(1, 64);
  lanes.lane.lose_packets = true;
  ibv_send_wr wr = request(IBV_WR_SEND, 8);
  ibv_send_wr* bad = nullptr;
  ASSERT_TRUE(a->post_send(&wr, &bad));
  for (int i = 0; i < 100 && state_of(*a) == IBV_MIG_ARMED; ++i)
    lanes.lane.advance(std::chrono::milliseconds(20));
  EXPECT_EQ(state_of(*a), IBV_MIG_MIGRATED);
  EXPECT_EQ(RnicTest::state_of(*a), IBV_QPS_RTS);
  EXPECT_TRUE(poll(*cq).empty());
  lanes.lane.lose_packets = false;
  for (int i = 0; i < 10; ++i) lanes.lane.advance(std::chrono::milliseconds(20));
  EXPECT_EQ(one(*cq).status, IBV_WC_SUCCESS);
  EXPECT_EQ(one(*recv_cq).status, IBV_WC_SUCCESS);
  EXPECT_EQ(state_of(*b), IBV_MIG_MIGRATED);
  ignore_events();
}

// What goes without packets does not say MigReq.
TEST_F(QpMigration, AQueuePairWithAnAlternatePathGoesByPackets) {
  lanes.lane.goes_direct = true;
  connect(IBV_QPT_RC);
  EXPECT_EQ(run(request(IBV_WR_RDMA_WRITE, 8)).status, IBV_WC_SUCCESS);
  lanes.lane.headers_sent.clear();
  EXPECT_FALSE(arrived(8)) << "the lane of this test has only said so";
  ASSERT_EQ(set(*a, load(IBV_MIG_REARM)), 0);
  EXPECT_EQ(run(request(IBV_WR_RDMA_WRITE, 8)).status, IBV_WC_SUCCESS);
  EXPECT_TRUE(arrived(8));
  ASSERT_FALSE(lanes.lane.headers_sent.empty());
  EXPECT_FALSE(lanes.lane.headers_sent.front().headers.bth.migration_request);
  ignore_events();
}

TEST_F(QpMigration, WrongValuesAreRefused) {
  connect(IBV_QPT_RC);
  const auto refused = [&](const Change& change, ReasonId reason) {
    explanations().clear();
    EXPECT_EQ(set(*a, change), EINVAL);
    EXPECT_EQ(only_reason(), reason);
    EXPECT_EQ(state_of(*a), IBV_MIG_MIGRATED);
  };
  EXPECT_EQ(set(*a, IBV_MIG_REARM), EINVAL);
  EXPECT_EQ(only_reason(), ReasonId::no_alternate_path);
  EXPECT_EQ(set(*a, IBV_MIG_MIGRATED), 0);
  Change change = load(static_cast<ibv_mig_state>(3));
  refused(change, ReasonId::bad_qp_attribute);
  change = load(IBV_MIG_REARM);
  change.attributes.alt_port_num = 2;
  refused(change, ReasonId::bad_port);
  change = load(IBV_MIG_REARM);
  change.attributes.alt_pkey_index = 1;
  refused(change, ReasonId::bad_pkey_index);
  change = load(IBV_MIG_REARM);
  change.attributes.alt_timeout = 32;
  refused(change, ReasonId::bad_qp_attribute);
  change = load(IBV_MIG_REARM);
  change.attributes.alt_ah_attr.grh.sgid_index = 3;
  refused(change, ReasonId::empty_gid_index);
  EXPECT_EQ(set(*a, IBV_MIG_ARMED), EINVAL) << "nothing of these was loaded";
}

TEST_F(QpMigration, IsForgottenInReset) {
  connect(IBV_QPT_RC);
  ASSERT_EQ(set(*a, load(IBV_MIG_ARMED)), 0);
  Change change;
  change.attributes.qp_state = IBV_QPS_RESET;
  change.mask = IBV_QP_STATE;
  ASSERT_EQ(set(*a, change), 0);
  EXPECT_EQ(state_of(*a), IBV_MIG_MIGRATED);
  bring(*a, IBV_QPS_RTS, b->qpn());
  EXPECT_EQ(set(*a, IBV_MIG_REARM), EINVAL);
}

TEST_F(QpMigration, OfUcFollowsToo) {
  connect(IBV_QPT_UC);
  for (QueuePair* qp : {a.get(), b.get()}) ASSERT_EQ(set(*qp, load(IBV_MIG_ARMED)), 0);
  ASSERT_EQ(set(*a, IBV_MIG_MIGRATED), 0);
  send_one();
  EXPECT_EQ(state_of(*b), IBV_MIG_MIGRATED);
  ignore_events();
}

}  // namespace
}  // namespace softrnic::rnic::test
