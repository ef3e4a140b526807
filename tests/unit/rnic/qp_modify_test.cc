#include <cerrno>

#include "base/reason_id.h"
#include "tests/unit/rnic/fixture.h"

namespace softrnic::rnic::test {
namespace {

class QpModify : public RnicTest {
 protected:
  void expect_refused(QueuePair& qp, const Change& change, ReasonId reason, int error = EINVAL) {
    const ibv_qp_state before = state_of(qp);
    explanations().clear();
    EXPECT_EQ(error_of(qp.modify(change.attributes, change.mask)), error);
    EXPECT_EQ(only_reason(), reason);
    EXPECT_EQ(state_of(qp), before);
  }
};

TEST_F(QpModify, ValuesOfInit) {
  auto qp = make_qp(IBV_QPT_RC);
  Change change = change_to(IBV_QPS_INIT, IBV_QPT_RC);
  change.attributes.port_num = 2;
  expect_refused(*qp, change, ReasonId::bad_port);
  change = change_to(IBV_QPS_INIT, IBV_QPT_RC);
  change.attributes.pkey_index = 1;
  expect_refused(*qp, change, ReasonId::bad_pkey_index);
  EXPECT_TRUE(qp->destroy());
}

TEST_F(QpModify, ValuesOfRtr) {
  auto qp = make_qp(IBV_QPT_RC);
  bring(*qp, IBV_QPS_INIT);
  const Change good = change_to(IBV_QPS_RTR, IBV_QPT_RC);
  struct Case {
    ReasonId reason;
    void (*spoil)(ibv_qp_attr&);
  };
  const Case cases[] = {
      {ReasonId::ah_needs_grh, [](auto& a) { a.ah_attr.is_global = 0; }},
      {ReasonId::bad_port, [](auto& a) { a.ah_attr.port_num = 0; }},
      {ReasonId::bad_gid_index, [](auto& a) { a.ah_attr.grh.sgid_index = 4; }},
      {ReasonId::empty_gid_index, [](auto& a) { a.ah_attr.grh.sgid_index = 3; }},
      {ReasonId::gid_family, [](auto& a) { a.ah_attr.grh.sgid_index = 0; }},
      {ReasonId::bad_dgid, [](auto& a) { a.ah_attr.grh.dgid = {}; }},
      {ReasonId::bad_qp_attribute, [](auto& a) { a.path_mtu = static_cast<ibv_mtu>(0); }},
      {ReasonId::bad_qp_attribute, [](auto& a) { a.path_mtu = static_cast<ibv_mtu>(6); }},
      {ReasonId::bad_dest_qpn, [](auto& a) { a.dest_qp_num = 0x11000000; }},
      {ReasonId::bad_qp_attribute, [](auto& a) { a.max_dest_rd_atomic = limits::kMaxReadsPerQp + 1; }},
      {ReasonId::bad_qp_attribute, [](auto& a) { a.min_rnr_timer = 32; }},
  };
  for (const Case& c : cases) {
    Change change = good;
    c.spoil(change.attributes);
    expect_refused(*qp, change, c.reason);
  }
  EXPECT_TRUE(qp->modify(good.attributes, good.mask));
  EXPECT_TRUE(qp->destroy());
}

TEST_F(QpModify, PathMtuIsBoundedByThePort) {
  auto device = make_device();
  device->port.active_mtu = 1024;
  context.update(device);
  auto qp = make_qp(IBV_QPT_UC);
  bring(*qp, IBV_QPS_INIT);
  Change change = change_to(IBV_QPS_RTR, IBV_QPT_UC);
  change.attributes.path_mtu = IBV_MTU_2048;
  expect_refused(*qp, change, ReasonId::mtu_too_large);
  change.attributes.path_mtu = IBV_MTU_1024;
  EXPECT_TRUE(qp->modify(change.attributes, change.mask));
  EXPECT_TRUE(qp->destroy());
}

TEST_F(QpModify, PathMtuOfAnAddressByLidIsThatOfThePort) {
  auto device = make_device();
  device->port.active_mtu = 1024;
  context.update(device);
  auto qp = make_qp(IBV_QPT_UC);
  bring(*qp, IBV_QPS_INIT);
  Change change = change_to(IBV_QPS_RTR, IBV_QPT_UC);
  change.attributes.path_mtu = IBV_MTU_2048;
  change.attributes.ah_attr.is_global = 0;
  change.attributes.ah_attr.dlid = 1;
  EXPECT_TRUE(qp->modify(change.attributes, change.mask));
  ibv_qp_attr attributes{};
  QueuePairInit init;
  qp->query(attributes, init);
  EXPECT_EQ(attributes.path_mtu, IBV_MTU_1024);
  EXPECT_TRUE(qp->destroy());
}

TEST_F(QpModify, ValuesOfRts) {
  auto qp = make_qp(IBV_QPT_RC);
  bring(*qp, IBV_QPS_RTR);
  Change change = change_to(IBV_QPS_RTS, IBV_QPT_RC);
  change.attributes.timeout = 32;
  expect_refused(*qp, change, ReasonId::bad_qp_attribute);
  change = change_to(IBV_QPS_RTS, IBV_QPT_RC);
  change.attributes.max_rd_atomic = limits::kMaxReadsPerQp + 1;
  expect_refused(*qp, change, ReasonId::bad_qp_attribute);
  change = change_to(IBV_QPS_RTS, IBV_QPT_RC);
  change.attributes.cur_qp_state = IBV_QPS_INIT;
  change.mask |= IBV_QP_CUR_STATE;
  expect_refused(*qp, change, ReasonId::cur_state_mismatch);
  change = change_to(IBV_QPS_RTS, IBV_QPT_RC);
  change.attributes.path_mig_state = IBV_MIG_REARM;
  change.mask |= IBV_QP_PATH_MIG_STATE;
  expect_refused(*qp, change, ReasonId::no_alternate_path);
  EXPECT_TRUE(qp->destroy());
}

TEST_F(QpModify, RetriesAboveSevenAreSeven) {
  auto qp = make_qp(IBV_QPT_RC);
  bring(*qp, IBV_QPS_RTR);
  Change change = change_to(IBV_QPS_RTS, IBV_QPT_RC);
  change.attributes.retry_cnt = 10;
  change.attributes.rnr_retry = 255;
  EXPECT_TRUE(qp->modify(change.attributes, change.mask));
  ibv_qp_attr a;
  QueuePairInit made;
  qp->query(a, made);
  EXPECT_EQ(a.retry_cnt, 7);
  EXPECT_EQ(a.rnr_retry, 7);
  EXPECT_TRUE(qp->destroy());
}

TEST_F(QpModify, QueryReturnsWhatWasSetAndMade) {
  auto qp = make_qp(IBV_QPT_RC);
  bring(*qp, IBV_QPS_RTS);
  ibv_qp_attr a;
  QueuePairInit made;
  qp->query(a, made);
  EXPECT_EQ(a.qp_state, IBV_QPS_RTS);
  EXPECT_EQ(a.cur_qp_state, IBV_QPS_RTS);
  EXPECT_EQ(a.path_mtu, IBV_MTU_1024);
  EXPECT_EQ(a.dest_qp_num, 0x070011U);
  EXPECT_EQ(a.sq_psn, 100U);
  EXPECT_EQ(a.rq_psn, 100U);
  EXPECT_EQ(a.timeout, 14);
  EXPECT_EQ(a.retry_cnt, 2);
  EXPECT_EQ(a.rnr_retry, 3);
  EXPECT_EQ(a.min_rnr_timer, 12);
  EXPECT_EQ(a.max_rd_atomic, 4);
  EXPECT_EQ(a.max_dest_rd_atomic, 4);
  EXPECT_EQ(a.port_num, 1);
  EXPECT_EQ(a.path_mig_state, IBV_MIG_MIGRATED);
  EXPECT_EQ(a.ah_attr.is_global, 1);
  EXPECT_EQ(a.ah_attr.grh.sgid_index, 1);
  EXPECT_EQ(a.cap.max_send_wr, 8U);
  EXPECT_EQ(a.cap.max_inline_data, 64U);
  EXPECT_EQ(made.send_cq, cq.get());
  EXPECT_EQ(made.type, IBV_QPT_RC);
  bring(*qp, IBV_QPS_ERR);
  const Change reset = change_to(IBV_QPS_RESET, IBV_QPT_RC);
  EXPECT_TRUE(qp->modify(reset.attributes, reset.mask));
  qp->query(a, made);
  EXPECT_EQ(a.dest_qp_num, 0U);
  EXPECT_EQ(a.timeout, 0);
  EXPECT_EQ(a.cap.max_send_wr, 8U);
  bring(*qp, IBV_QPS_RTS);  // and it can be used again
  EXPECT_TRUE(qp->destroy());
}

TEST_F(QpModify, DrainedEventOnlyWhenAskedFor) {
  auto qp = make_qp(IBV_QPT_RC);
  bring(*qp, IBV_QPS_RTS);
  Change drain = change_to(IBV_QPS_SQD, IBV_QPT_RC);
  EXPECT_TRUE(qp->modify(drain.attributes, drain.mask));
  EXPECT_FALSE(event_waits());
  Change resume;
  resume.attributes.qp_state = IBV_QPS_RTS;
  resume.mask = IBV_QP_STATE;
  EXPECT_TRUE(qp->modify(resume.attributes, resume.mask));
  drain.attributes.en_sqd_async_notify = 1;
  drain.mask |= IBV_QP_EN_SQD_ASYNC_NOTIFY;
  EXPECT_TRUE(qp->modify(drain.attributes, drain.mask));
  const AsyncEvent event = next_event();
  EXPECT_EQ(event.type, IBV_EVENT_SQ_DRAINED);
  EXPECT_EQ(event.target, qp.get());
  EXPECT_TRUE(qp->destroy());
}

TEST_F(QpModify, NoWayBackBeforeTheQueueIsDrained) {
  std::array<char, 64> memory{};
  auto mr = make_mr(memory.data(), memory.size());
  auto qp = make_qp(IBV_QPT_RC);
  bring(*qp, IBV_QPS_RTS);
  lanes.lane.lose_packets = true;
  ibv_sge sge;
  ibv_send_wr wr = send_wr(IBV_WR_SEND, mr.get(), memory.data(), 8, sge);
  ibv_send_wr* bad = nullptr;
  ASSERT_TRUE(qp->post_send(&wr, &bad));
  Change drain = change_to(IBV_QPS_SQD, IBV_QPT_RC);
  EXPECT_TRUE(qp->modify(drain.attributes, drain.mask));
  ibv_qp_attr a;
  QueuePairInit made;
  qp->query(a, made);
  EXPECT_EQ(a.sq_draining, 1);
  Change resume;
  resume.attributes.qp_state = IBV_QPS_RTS;
  resume.mask = IBV_QP_STATE;
  expect_refused(*qp, resume, ReasonId::sq_drain_async);
  EXPECT_TRUE(qp->destroy());
  EXPECT_TRUE(mr->destroy());
}

}  // namespace
}  // namespace softrnic::rnic::test
