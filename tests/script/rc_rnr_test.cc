// Receiver not ready (IBTA 9.7.5.2.8).
#include "base/reason_id.h"
#include "tests/script/script.h"

namespace softrnic::ib::test {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using RcRnr = Script;

TEST_F(RcRnr, TheRequesterWaitsAsLongAsItIsTold) {
  rc();
  post("send len=8");
  post("send len=8");
  out("RC Send Only psn=5 ackreq");
  out("RC Send Only psn=6 ackreq");
  in("RC Acknowledge psn=5 rnr=12 msn=0");  // 640 us
  because_of(ReasonId::got_nak_rnr);
  pass(microseconds(639));
  silent();
  pass(microseconds(1));
  out("RC Send Only psn=5 ackreq");
  silent();  // the peer would drop the second one if it still had no receive
  in("RC Acknowledge psn=5 msn=1");
  out("RC Send Only psn=6 ackreq");
  in("RC Acknowledge psn=6 msn=2");
  sent("1 success");
  sent("2 success");
  quiet();
}

TEST_F(RcRnr, OfALongMessageOnePacketAsksWhetherThereIsAReceive) {
  rc();
  post("send len=2500");
  out("RC Send First psn=5 len=1024");
  out("RC Send Middle psn=6 len=1024");
  out("RC Send Last psn=7 len=452 ackreq");
  in("RC Acknowledge psn=5 rnr=1 msn=0");
  for (int i = 0; i < 3; ++i) {
    pass(microseconds(10));
    out("RC Send First psn=5 len=1024 ackreq");
    silent();
    in("RC Acknowledge psn=5 rnr=1 msn=0");
  }
  pass(microseconds(10));
  out("RC Send First psn=5 len=1024 ackreq");
  in("RC Acknowledge psn=5 msn=0");
  out("RC Send Middle psn=6 len=1024");
  out("RC Send Last psn=7 len=452 ackreq");
  in("RC Acknowledge psn=7 msn=1");
  sent("1 success");
  quiet();
}

TEST_F(RcRnr, TheNakAcknowledgesWhatIsBeforeIt) {
  rc();
  for (int i = 0; i < 2; ++i) post("send len=8");
  out("RC Send Only psn=5 ackreq");
  out("RC Send Only psn=6 ackreq");
  in("RC Acknowledge psn=6 rnr=1 msn=1");
  sent("1 success");
  pass(microseconds(10));
  out("RC Send Only psn=6 ackreq");
  silent();
}

TEST_F(RcRnr, TheRequesterGivesUpAfterRnrRetryTimes) {
  attributes.rnr_retry = 2;
  rc();
  post("send len=8");
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(host.sends.empty());
    out("RC Send Only psn=5 ackreq");
    in("RC Acknowledge psn=5 rnr=1 msn=0");
    pass(milliseconds(1));
  }
  sent("1 rnr_exceeded");
  because_of(ReasonId::rnr_exceeded);
  EXPECT_TRUE(qp().in_error());
  quiet();
}

TEST_F(RcRnr, ZeroRetriesFailAtOnce) {
  attributes.rnr_retry = 0;
  rc();
  post("send len=8");
  out("RC Send Only psn=5 ackreq");
  in("RC Acknowledge psn=5 rnr=1 msn=0");
  sent("1 rnr_exceeded");
}

TEST_F(RcRnr, SevenMeansForEver) {
  rc();
  post("send len=8");
  for (int i = 0; i < 50; ++i) {
    out("RC Send Only psn=5 ackreq");
    in("RC Acknowledge psn=5 rnr=1 msn=0");
    pass(microseconds(10));
  }
  out("RC Send Only psn=5 ackreq");
  in("RC Acknowledge psn=5 msn=1");
  sent("1 success");
}

TEST_F(RcRnr, ADoubledNakCountsOnce) {
  attributes.rnr_retry = 1;
  rc();
  post("send len=8");
  out("RC Send Only psn=5 ackreq");
  in("RC Acknowledge psn=5 rnr=1 msn=0");
  in("RC Acknowledge psn=5 rnr=1 msn=0");
  EXPECT_TRUE(host.sends.empty());
  pass(microseconds(10));
  out("RC Send Only psn=5 ackreq");
}

TEST_F(RcRnr, TheResponderAsksToWaitAndThenTakesTheMessage) {
  rc();
  in("RC Send Only psn=5 len=8 ackreq");
  because_of(ReasonId::nak_rnr);
  in("RC Send Only psn=6 len=8 ackreq");  // of the same burst: dropped silently
  out("RC Acknowledge psn=5 rnr=12 msn=0");
  quiet();
  post_receive(64);
  in("RC Send Only psn=5 len=8 ackreq");
  received("100 success len=8");
  out("RC Acknowledge psn=5 msn=1");
  EXPECT_EQ(counted(Counter::rnr_nak_sent), 1U);
  quiet();
}

// 9.7.4.1.4: a WRITE with immediate takes its receive with the last packet.
TEST_F(RcRnr, AWriteWithImmediateMayWaitAtItsLastPacket) {
  rc();
  in("RC RDMA Write First psn=5 va=0x12000 rkey=0x20 dmalen=1030 len=1024");
  in("RC RDMA Write Last Immediate psn=6 len=6 imm=8 ackreq");
  out("RC Acknowledge psn=6 rnr=12 msn=0");
  EXPECT_FALSE(holds(0x12400, 6, 6));
  post_receive(0);
  in("RC RDMA Write Last Immediate psn=6 len=6 imm=8 ackreq");
  received("100 success len=1030 imm=8 write");
  EXPECT_TRUE(holds(0x12400, 6, 6));
  out("RC Acknowledge psn=6 msn=1");
  quiet();
}

TEST_F(RcRnr, AWriteWithImmediateThatIsRepeatedAsAWholeIsTakenAtItsLastPacket) {
  rc();
  in("RC RDMA Write First psn=5 va=0x12000 rkey=0x20 dmalen=1030 len=1024");
  in("RC RDMA Write Last Immediate psn=6 len=6 imm=8 ackreq");
  out("RC Acknowledge psn=6 rnr=12 msn=0");
  post_receive(0);
  in("RC RDMA Write First psn=5 va=0x12000 rkey=0x20 dmalen=1030 len=1024");  // a duplicate
  in("RC RDMA Write Last Immediate psn=6 len=6 imm=8 ackreq");
  received("100 success len=1030 imm=8 write");
  out("RC Acknowledge psn=6 msn=1");
  quiet();
}

}  // namespace
}  // namespace softrnic::ib::test
