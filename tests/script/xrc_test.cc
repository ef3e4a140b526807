// XRC, IBTA annex A14: a connection whose requests say which SRQ they are for.
#include "base/reason_id.h"
#include "tests/script/script.h"

namespace softrnic::ib::test {
namespace {

using XrcInitiator = Script;
using XrcTarget = Script;

TEST_F(XrcInitiator, EveryRequestNamesItsSrq) {
  attributes.max_reads_out = 4;
  xrc_initiator();
  post("send len=2500 srqn=0x1234");
  out("XRC Send First psn=5 len=1024 srqn=0x1234");
  out("XRC Send Middle psn=6 len=1024 srqn=0x1234");
  out("XRC Send Last psn=7 len=452 srqn=0x1234 ackreq");
  post("write_imm len=1500 va=0x40000 rkey=0x77 imm=9 srqn=0x1235");
  out("XRC RDMA Write First psn=8 len=1024 va=0x40000 rkey=0x77 dmalen=1500 srqn=0x1235");
  out("XRC RDMA Write Last Immediate psn=9 len=476 imm=9 srqn=0x1235 ackreq");
  post("read len=8 va=0x40000 rkey=0x77 srqn=0x1236");
  out("XRC RDMA Read Request psn=10 va=0x40000 rkey=0x77 dmalen=8 srqn=0x1236 ackreq");
  post("faa len=8 va=0x40000 rkey=0x77 add=3 srqn=0x1237");
  out("XRC Fetch Add psn=11 va=0x40000 rkey=0x77 add=3 srqn=0x1237 ackreq");
  in("XRC Acknowledge psn=9 msn=2");
  sent("1 success");
  sent("2 success");
  in("XRC RDMA Read Response Only psn=10 len=8 msn=3");
  sent("3 success");
  in("XRC Atomic Acknowledge psn=11 orig=7 msn=4");
  sent("4 success");
  quiet();
}

TEST_F(XrcInitiator, WhatIsSentAgainNamesItToo) {
  xrc_initiator();
  post("send len=8 srqn=1");
  post("send len=8 srqn=2");
  out("XRC Send Only psn=5 len=8 srqn=1 ackreq");
  out("XRC Send Only psn=6 len=8 srqn=2 ackreq");
  in("XRC Acknowledge psn=5 nak=sequence");
  out("XRC Send Only psn=5 len=8 srqn=1 ackreq");
  out("XRC Send Only psn=6 len=8 srqn=2 ackreq");
  in("XRC Acknowledge psn=6 msn=2");
  sent("1 success");
  sent("2 success");
  quiet();
}

TEST_F(XrcInitiator, TakesNoRequests) {
  host.srqs = {1};
  xrc_initiator();
  post_receive(100);
  in("XRC Send Only psn=5 len=8 srqn=1 ackreq");
  because_of(ReasonId::drop_xrc_half);
  quiet();
  EXPECT_EQ(counted(Counter::drop_service), 1U);
}

TEST_F(XrcInitiator, SendsNothingEagerly) {
  PathWindow& path = own_window;
  path.set_local(true);
  window = &path;
  xrc_initiator();
  post("send len=8 srqn=1");
  EagerSend eager;
  EXPECT_FALSE(qp().next_eager(eager));
  out("XRC Send Only psn=5 len=8 srqn=1 ackreq");
  in("XRC Acknowledge psn=5 msn=1");
  sent("1 success");
}

TEST_F(XrcTarget, RequestsSelectTheirSrq) {
  host.srqs = {1, 2};
  xrc_target();
  post_receive(3000, 0x12000);
  post_receive(64, 0x14000);
  in("XRC Send First psn=5 len=1024 srqn=1");
  EXPECT_EQ(host.selected_srq, 1U);
  in("XRC Send Last psn=6 len=10 srqn=1 ackreq");
  received("100 success len=1034");
  event(QpEvent::communication_established);
  out("XRC Acknowledge psn=6 msn=1");
  in("XRC RDMA Write Only Immediate psn=7 va=0x16000 rkey=0x20 dmalen=8 len=8 imm=4 srqn=2 ackreq");
  EXPECT_EQ(host.selected_srq, 2U);
  received("101 success len=8 imm=4 write");
  out("XRC Acknowledge psn=7 msn=2");
  quiet();
}

// The keys of a READ go by its SRQ also when it is answered after other requests.
TEST_F(XrcTarget, AnswersGoByTheSrqOfTheirRequest) {
  host.srqs = {1, 2};
  attributes.max_reads_in = 2;
  xrc_target();
  in("XRC RDMA Read Request psn=5 va=0x12000 rkey=0x20 dmalen=8 srqn=1");
  event(QpEvent::communication_established);
  in("XRC RDMA Write Only psn=6 va=0x13000 rkey=0x20 dmalen=8 len=8 srqn=2 ackreq");
  EXPECT_EQ(host.selected_srq, 2U);
  out("XRC RDMA Read Response Only psn=5 len=8 msn=1");
  EXPECT_EQ(host.selected_srq, 1U);
  out("XRC Acknowledge psn=6 msn=2");
  in("XRC RDMA Read Request psn=7 va=0x12000 rkey=0x20 dmalen=8 srqn=2");
  host.srqs = {1};
  out("XRC Acknowledge psn=7 nak=access");
  event(QpEvent::access_error);
  because_of(ReasonId::nak_xrc_srq);
  EXPECT_TRUE(qp().in_error());
}

TEST_F(XrcTarget, AnUnknownSrqIsAnInvalidRequest) {
  host.srqs = {1};
  xrc_target();
  post_receive(100);
  in("XRC Send Only psn=5 len=8 srqn=2 ackreq");
  because_of(ReasonId::nak_xrc_srq);
  event(QpEvent::communication_established);
  event(QpEvent::request_error);
  out("XRC Acknowledge psn=5 nak=invalid");
  EXPECT_TRUE(qp().in_error());
  EXPECT_EQ(host.taken, 0U);
  EXPECT_EQ(counted(Counter::nak_invalid_sent), 1U);
}

TEST_F(XrcTarget, AMessageStaysWithItsSrq) {
  host.srqs = {1, 2};
  xrc_target();
  post_receive(3000);
  in("XRC Send First psn=5 len=1024 srqn=1");
  event(QpEvent::communication_established);
  in("XRC Send Last psn=6 len=10 srqn=2 ackreq");
  because_of(ReasonId::nak_xrc_srq_changed);
  received("100 flushed");
  event(QpEvent::request_error);
  out("XRC Acknowledge psn=6 nak=invalid");
}

TEST_F(XrcTarget, AnEmptySrqAsksToTryAgain) {
  host.srqs = {1};
  xrc_target();
  in("XRC Send Only psn=5 len=8 srqn=1 ackreq");
  because_of(ReasonId::nak_rnr);
  event(QpEvent::communication_established);
  out("XRC Acknowledge psn=5 rnr=" + std::to_string(attributes.min_rnr_timer));
  post_receive(8);
  in("XRC Send Only psn=5 len=8 srqn=1 ackreq");
  received("100 success len=8");
  out("XRC Acknowledge psn=5 msn=1");
}

// Its SRQ is destroyed in the middle of a message.
TEST_F(XrcTarget, AReceiveThatIsForgottenIsNotCompleted) {
  host.srqs = {1, 2};
  xrc_target();
  post_receive(3000);
  in("XRC Send First psn=5 len=1024 srqn=1");
  event(QpEvent::communication_established);
  qp().forget_receive();
  host.srqs = {2};
  in("XRC Send Middle psn=6 len=1024 srqn=1 ackreq");
  because_of(ReasonId::nak_xrc_srq);
  event(QpEvent::request_error);
  out("XRC Acknowledge psn=6 nak=invalid");
  quiet();
}

TEST_F(XrcTarget, TakesNoAnswersAndNoRcPackets) {
  host.srqs = {1};
  xrc_target();
  in("XRC Acknowledge psn=5 msn=1");
  because_of(ReasonId::drop_xrc_half);
  in("RC Send Only psn=5 len=8");
  because_of(ReasonId::drop_wrong_service);
  quiet();
}

}  // namespace
}  // namespace softrnic::ib::test
