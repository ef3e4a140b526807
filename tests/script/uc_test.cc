// Unreliable connections, IBTA vol. 1, 9.8.2.
#include "base/reason_id.h"
#include "tests/script/script.h"

namespace softrnic::ib::test {
namespace {

using Uc = Script;

TEST_F(Uc, SendsAndCompletesWithTheLastPacket) {
  uc();
  post("send len=1500");
  post("write_imm len=8 va=0x7000 rkey=0x55 imm=4 unsignaled");
  out("UC Send First psn=5 len=1024");
  EXPECT_TRUE(host.sends.empty());
  out("UC Send Last psn=6 len=476");
  sent("1 success");
  out("UC RDMA Write Only Immediate psn=7 va=0x7000 rkey=0x55 dmalen=8 imm=4");
  quiet();
}

TEST_F(Uc, ReceivesWithoutAcknowledging) {
  uc();
  post_receive(2000, 0x12000);
  in("UC Send First psn=5 len=1024");
  in("UC Send Last Immediate psn=6 len=10 imm=3");
  received("100 success len=1034 imm=3");
  in("UC RDMA Write Only psn=7 va=0x13000 rkey=0x20 len=8");
  EXPECT_TRUE(holds(0x13000, 7, 8));
  quiet();
}

// 9.8.2.2.3: the message is dropped; its receive serves the next one.
TEST_F(Uc, ALostMiddlePacketDropsTheMessageUpToTheNextFirst) {
  uc();
  post_receive(4000, 0x12000);
  in("UC Send First psn=5 len=1024");
  in("UC Send Middle psn=7 len=1024");
  in("UC Send Last psn=8 len=1");
  because_of(ReasonId::drop_uc_sequence);
  in("UC Send Only psn=9 len=16");
  received("100 success len=16");
  EXPECT_TRUE(holds(0x12000, 9, 16));
  quiet();
}

TEST_F(Uc, ALostMessageIsNotMissed) {
  uc();
  post_receive(64);
  in("UC Send Only psn=900 len=8");
  received("100 success len=8");
  EXPECT_EQ(qp().receive_psn(), 901U);
  quiet();
}

TEST_F(Uc, ANewFirstInsideAMessageAfterALossBeginsAnew) {
  uc();
  post_receive(4000, 0x12000);
  in("UC Send First psn=5 len=1024");
  in("UC Send First psn=8 len=1024");
  in("UC Send Last psn=9 len=7");
  received("100 success len=1031");
  quiet();
}

TEST_F(Uc, AMessageWithoutAReceiveIsLost) {
  uc();
  in("UC Send First psn=5 len=1024");
  because_of(ReasonId::drop_uc_no_receive);
  post_receive(2000);
  in("UC Send Last psn=6 len=8");
  in("UC Send Only psn=7 len=8");
  received("100 success len=8");
  EXPECT_EQ(counted(Counter::drop_no_receive), 1U);
  quiet();
}

TEST_F(Uc, TellsWhichPacketsLackAReceive) {
  uc();
  EXPECT_TRUE(lacks_receive("UC Send First psn=5 len=1024"));
  EXPECT_FALSE(lacks_receive("UC RDMA Write Only psn=5 va=0x13000 rkey=0x20 len=8"));
  in("UC RDMA Write First psn=5 va=0x13000 rkey=0x20 dmalen=1032 len=1024");
  EXPECT_TRUE(lacks_receive("UC RDMA Write Last Immediate psn=6 len=8 imm=1"));
  post_receive(2000);
  EXPECT_FALSE(lacks_receive("UC RDMA Write Last Immediate psn=6 len=8 imm=1"));
  in("UC RDMA Write Last Immediate psn=6 len=8 imm=1");
  received("100 success len=1032 imm=1 write");
  EXPECT_TRUE(lacks_receive("UC Send Only psn=7 len=8"));
  EXPECT_EQ(counted(Counter::drop_no_receive), 0U);
  quiet();
}

// A packet that would be dropped anyway does not wait.
TEST_F(Uc, APacketOfAnotherServiceOrOfALostMessageLacksNoReceive) {
  uc();
  EXPECT_FALSE(lacks_receive("RC Send Only psn=5 len=8"));
  in("UC Send Middle psn=6 len=1024");
  because_of(ReasonId::drop_uc_sequence);
  EXPECT_FALSE(lacks_receive("UC RDMA Write Last Immediate psn=7 len=8 imm=1"));
  qp().flush();
  EXPECT_FALSE(lacks_receive("UC Send Only psn=8 len=8"));
}

// 9.8.3: an R_Key violation is the peer's loss only.
TEST_F(Uc, AWriteThatIsNotAllowedIsDropped) {
  uc();
  in("UC RDMA Write Only psn=5 va=0x12000 rkey=0x99 len=8");
  because_of(ReasonId::nak_rkey_unknown);
  EXPECT_EQ(counted(Counter::drop_access), 1U);
  EXPECT_FALSE(qp().in_error());
  in("UC RDMA Write Only psn=6 va=0x12000 rkey=0x20 len=8");
  EXPECT_TRUE(holds(0x12000, 6, 8));
  quiet();
}

TEST_F(Uc, AReceiveThatIsTooShortEndsTheQp) {
  uc();
  post_receive(4);
  in("UC Send Only psn=5 len=8");
  received("100 local_length");
  because_of(ReasonId::nak_receive_too_short);
  EXPECT_TRUE(qp().in_error());
  quiet();
}

TEST_F(Uc, DoesNotReadOrDoAtomics) {
  uc();
  post("read len=8");
  post("send len=8");
  silent();
  sent("1 local_qp_operation");
  sent("2 flushed");
  EXPECT_TRUE(qp().in_error());
  quiet();
}

TEST_F(Uc, DrainsAfterTheMessageThatHasBegun) {
  uc();
  post("send len=1500");
  post("send len=8");
  out("UC Send First psn=5 len=1024");
  qp().drain();
  EXPECT_FALSE(qp().drained());
  out("UC Send Last psn=6 len=476");
  event(QpEvent::send_queue_drained);
  sent("1 success");
  quiet();
  qp().resume();
  out("UC Send Only psn=7 len=8");
  sent("2 success");
  quiet();
}

TEST_F(Uc, WaitsForTokens) {
  PathWindow::Limits limits;
  limits.unacked_burst_bytes = 1088;
  limits.unacked_bytes_per_second = 1'000'000;
  PathWindow bucket(limits);
  window = &bucket;
  uc();
  post("send len=2048");
  out("UC Send First psn=5 len=1024");
  silent();
  EXPECT_EQ(qp().deadline(), now + std::chrono::nanoseconds(1088000));
  pass(std::chrono::milliseconds(2));
  out("UC Send Last psn=6 len=1024");
  sent("1 success");
  EXPECT_EQ(qp().deadline(), kNever);
  quiet();
}

}  // namespace
}  // namespace softrnic::ib::test
