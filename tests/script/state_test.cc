// States of a QP and the checks that come before any sequence number (IBTA 9.6.1, 10.3.1).
#include "base/reason_id.h"
#include "tests/script/script.h"

namespace softrnic::ib::test {
namespace {

using State = Script;

TEST_F(State, ThePeerIsHeardInRtr) {
  rc_in_rtr();
  post_receive(64);
  post("send len=8");  // stays where it is
  in("RC Send Only psn=5 len=8 ackreq");
  event(QpEvent::communication_established);
  received("100 success len=8");
  out("RC Acknowledge psn=5 msn=1");
  quiet();
  qp().start_requester(attributes);
  out("RC Send Only psn=5 ackreq");
}

TEST_F(State, EstablishedIsSaidOnceAndNotInRts) {
  rc_in_rtr();
  in("RC RDMA Write Only psn=5 len=0");
  event(QpEvent::communication_established);
  in("RC RDMA Write Only psn=6 len=0");
  EXPECT_TRUE(host.events.empty());
  rc();
  in("RC RDMA Write Only psn=5 len=0");
  EXPECT_TRUE(host.events.empty());
}

TEST_F(State, NothingIsHeardBeforeRtr) {
  rc();
  qp().reset();
  in("RC Send Only psn=5 len=8 ackreq");
  because_of(ReasonId::drop_qp_not_ready);
  in("RC Send Only psn=5 len=8 ackreq");
  EXPECT_TRUE(host.reasons.empty());  // once is enough
  EXPECT_EQ(counted(Counter::drop_not_ready), 2U);
  quiet();
}

TEST_F(State, ResetForgetsEverything) {
  rc();
  post_receive(4000);
  post("send len=8");
  out("RC Send Only psn=5 ackreq");
  in("RC Send First psn=5 len=1024");
  qp().reset();
  EXPECT_EQ(qp().outstanding_sends(), 0U);
  EXPECT_EQ(qp().deadline(), kNever);
  quiet();
  attributes.send_psn = 70;
  attributes.receive_psn = 80;
  qp().start_responder(attributes);
  qp().start_requester(attributes);
  post("send len=8");
  out("RC Send Only psn=70 ackreq");
  in("RC Acknowledge psn=70 msn=1");
  sent("2 success");
  in("RC RDMA Write Only psn=80 len=0 ackreq");
  out("RC Acknowledge psn=80 msn=1");
  quiet();
}

TEST_F(State, ResetAfterAnErrorStartsAnew) {
  rc();
  in("RC Send Middle psn=5 len=1024");
  EXPECT_TRUE(qp().in_error());
  host.events.clear();
  qp().reset();
  EXPECT_FALSE(qp().in_error());
  quiet();
  qp().start_responder(attributes);
  qp().start_requester(attributes);
  in("RC RDMA Write Only psn=5 len=0 ackreq");
  out("RC Acknowledge psn=5 msn=1");
  post("send len=8");
  out("RC Send Only psn=5 ackreq");
}

// 10.3.1.5: what has begun is finished, what has not waits.
TEST_F(State, DrainFinishesWhatHasBegun) {
  rc();
  post("send len=2048");
  post("send len=8");
  out("RC Send First psn=5");
  qp().drain();
  EXPECT_FALSE(qp().drained());
  out("RC Send Last psn=6 ackreq");
  quiet();
  in("RC Acknowledge psn=6 msn=1");
  event(QpEvent::send_queue_drained);
  EXPECT_TRUE(qp().drained());
  sent("1 success");
  quiet();
  qp().resume();
  out("RC Send Only psn=7 ackreq");
  in("RC Acknowledge psn=7 msn=2");
  sent("2 success");
  quiet();
}

TEST_F(State, AnIdleQueueIsDrainedAtOnce) {
  rc();
  qp().drain();
  event(QpEvent::send_queue_drained);
  EXPECT_TRUE(qp().drained());
}

TEST_F(State, WhileDrainingThePeerIsServed) {
  rc();
  qp().drain();
  host.events.clear();
  post_receive(64);
  in("RC Send Only psn=5 len=8 ackreq");
  received("100 success len=8");
  out("RC Acknowledge psn=5 msn=1");
  quiet();
}

TEST_F(State, TheSendQueueHasItsSize) {
  capacity.send_wqes = 3;
  rc();
  for (int i = 0; i < 3; ++i) post("send len=8");
  EXPECT_EQ(qp().reserve().wqe, nullptr);
  EXPECT_EQ(qp().outstanding_sends(), 3U);
  out("RC Send Only psn=5 ackreq");
  in("RC Acknowledge psn=5 msn=1");
  EXPECT_NE(qp().reserve().wqe, nullptr);
}

// 10.9.1.2
TEST_F(State, ThePkeyMustMatch) {
  attributes.pkey = 0x8001;
  rc();
  in("RC RDMA Write Only psn=5 len=0 ackreq pkey=0x8002");
  because_of(ReasonId::drop_pkey_mismatch);
  silent();
  in("RC RDMA Write Only psn=5 len=0 ackreq pkey=0x0001");
  out("RC Acknowledge psn=5 msn=1 pkey=0x8001");
}

TEST_F(State, TwoLimitedMembersDoNotTalk) {
  attributes.pkey = 0x0001;
  rc_limited();
  in("RC RDMA Write Only psn=5 len=0 ackreq pkey=0x0001");
  EXPECT_EQ(counted(Counter::drop_pkey), 1U);
  in("RC RDMA Write Only psn=5 len=0 ackreq pkey=0x8001");
  out("RC Acknowledge psn=5 msn=1");
}

TEST_F(State, OnlyThePeersAddressIsHeard) {
  rc();
  in_from(wire::Gid::from_ipv4_be(0x0900000a), "RC RDMA Write Only psn=5 len=0 ackreq");
  because_of(ReasonId::drop_wrong_source);
  EXPECT_EQ(counted(Counter::drop_source), 1U);
  quiet();
}

TEST_F(State, AnotherServicesPacketsAreDropped) {
  rc();
  in("UC Send Only psn=5 len=8");
  because_of(ReasonId::drop_wrong_service);
  uc();
  in("RC Send Only psn=5 len=8");
  because_of(ReasonId::drop_wrong_service);
  ud();
  in("UC Send Only psn=5 len=8");
  because_of(ReasonId::drop_wrong_service);
  EXPECT_EQ(counted(Counter::drop_service), 3U);
}

TEST_F(State, UpdateChangesTheRnrTimerAndTheAccess) {
  rc();
  attributes.min_rnr_timer = 3;
  attributes.access = 0;
  qp().update(attributes);
  in("RC Send Only psn=5 len=8 ackreq");
  out("RC Acknowledge psn=5 rnr=3");
  in("RC RDMA Write Only psn=5 va=0x12000 rkey=0x20 len=8");
  out("RC Acknowledge psn=5 nak=invalid");
}

TEST_F(State, AnswersBeforeAnythingWasSentAreIgnored) {
  rc_in_rtr();
  in("RC Acknowledge psn=5 msn=1");
  in("RC RDMA Read Response Only psn=5 len=8");
  host.events.clear();
  EXPECT_FALSE(qp().in_error());
  quiet();
}

}  // namespace
}  // namespace softrnic::ib::test
