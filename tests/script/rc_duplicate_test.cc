// Lost, repeated and reordered packets as the RC responder sees them (IBTA 9.7.5.1.2 – 9.7.5.1.5).
#include "base/reason_id.h"
#include "tests/script/script.h"

namespace softrnic::ib::test {
namespace {

using RcDuplicate = Script;

// IBTA 9.7.5
TEST_F(RcDuplicate, AGapIsReportedOnceUntilTheMissingPacketComes) {
  rc();
  for (int i = 0; i < 4; ++i) post_receive(64);
  in("RC Send Only psn=5 len=8");
  in("RC Send Only psn=7 len=8 ackreq");
  in("RC Send Only psn=8 len=8 ackreq");
  because_of(ReasonId::nak_sequence);
  out("RC Acknowledge psn=6 nak=sequence msn=1");
  silent();
  in("RC Send Only psn=9 len=8 ackreq");
  silent();
  in("RC Send Only psn=6 len=8");
  in("RC Send Only psn=8 len=8");
  out("RC Acknowledge psn=7 nak=sequence msn=2");
  EXPECT_EQ(counted(Counter::nak_sequence_sent), 2U);
  EXPECT_EQ(host.recvs.size(), 2U);
}

TEST_F(RcDuplicate, ANakThatIsNoLongerTrueIsNotSent) {
  rc();
  for (int i = 0; i < 2; ++i) post_receive(64);
  in("RC Send Only psn=6 len=8 ackreq");
  in("RC Send Only psn=5 len=8");
  in("RC Send Only psn=6 len=8 ackreq");
  out("RC Acknowledge psn=6 msn=2");
  silent();
}

TEST_F(RcDuplicate, TheWrongFirstPsnIsExplained) {
  rc();
  in("RC Send Only psn=1000 len=8 ackreq");
  because_of(ReasonId::nak_wrong_psn);
  out("RC Acknowledge psn=5 nak=sequence msn=0");
}

TEST_F(RcDuplicate, ASendIsAcknowledgedAgainAndNotExecuted) {
  rc();
  for (int i = 0; i < 3; ++i) post_receive(64);
  in("RC Send Only psn=5 len=8 ackreq");
  in("RC Send Only psn=6 len=8 ackreq");
  out("RC Acknowledge psn=6 msn=2");
  host.recvs.clear();
  in("RC Send Only psn=5 len=8 ackreq");
  out("RC Acknowledge psn=6 msn=2");
  EXPECT_EQ(counted(Counter::duplicates), 1U);
  quiet();
}

TEST_F(RcDuplicate, AWriteIsNotExecutedAgain) {
  rc();
  in("RC RDMA Write Only psn=5 va=0x12000 rkey=0x20 len=8 ackreq");
  out("RC Acknowledge psn=5 msn=1");
  *at(0x12000) = std::byte{0x5a};
  in("RC RDMA Write Only psn=5 va=0x12000 rkey=0x20 len=8 ackreq");
  EXPECT_EQ(*at(0x12000), std::byte{0x5a});
  out("RC Acknowledge psn=5 msn=1");
  quiet();
}

TEST_F(RcDuplicate, AReadIsAnsweredAgain) {
  rc();
  in("RC RDMA Read Request psn=5 va=0x12000 rkey=0x20 dmalen=2000");
  out("RC RDMA Read Response First psn=5 len=1024 msn=1");
  out("RC RDMA Read Response Last psn=6 len=976 msn=1");
  in("RC RDMA Read Request psn=5 va=0x12000 rkey=0x20 dmalen=2000");
  out("RC RDMA Read Response First psn=5 len=1024 msn=1");
  out("RC RDMA Read Response Last psn=6 len=976 msn=1");
  quiet();
}

TEST_F(RcDuplicate, TheRestOfAReadMayBeAskedForAgain) {
  rc();
  in("RC RDMA Read Request psn=5 va=0x12000 rkey=0x20 dmalen=3000");
  for (int i = 0; i < 3; ++i) qp().transmit(packet, now);
  silent();
  in("RC RDMA Read Request psn=6 va=0x12400 rkey=0x20 dmalen=1976");
  out("RC RDMA Read Response First psn=6 len=1024 msn=1");
  EXPECT_EQ(packet.fragments[0].data, at(0x12400));
  out("RC RDMA Read Response Last psn=7 len=952 msn=1");
  in("RC RDMA Read Request psn=6 va=0x12400 rkey=0x20 dmalen=1024");
  out("RC RDMA Read Response Only psn=6 len=1024 msn=1");
  quiet();
}

// 9.7.5.1.4: only a part of the original, with the same key, at the same place.
TEST_F(RcDuplicate, AReadThatIsNotPartOfTheOriginalIsDropped) {
  rc();
  host.regions[0x21] = host.regions[kKey];
  in("RC RDMA Read Request psn=5 va=0x12000 rkey=0x20 dmalen=2000");
  for (int i = 0; i < 2; ++i) qp().transmit(packet, now);
  in("RC RDMA Read Request psn=5 va=0x12000 rkey=0x21 dmalen=2000");
  in("RC RDMA Read Request psn=5 va=0x12400 rkey=0x20 dmalen=8");
  in("RC RDMA Read Request psn=5 va=0x12000 rkey=0x20 dmalen=2001");
  in("RC RDMA Read Request psn=6 va=0x12000 rkey=0x20 dmalen=8");
  in("RC RDMA Read Request psn=4 va=0x12000 rkey=0x20 dmalen=8");
  EXPECT_FALSE(qp().in_error());
  quiet();
}

// The peer may wait for it still, without a timeout for ever; if it does not, it takes no notice.
TEST_F(RcDuplicate, ARepeatedReadOfARegionThatIsGoneIsRefusedAndNoFault) {
  rc();
  in("RC RDMA Read Request psn=5 va=0x12000 rkey=0x20 dmalen=8");
  out("RC RDMA Read Response Only psn=5 msn=1");
  host.regions.erase(kKey);
  in("RC RDMA Read Request psn=5 va=0x12000 rkey=0x20 dmalen=8");
  out("RC Acknowledge psn=5 msn=1 nak=access");
  because_of(ReasonId::nak_rkey_unknown);
  EXPECT_FALSE(qp().in_error());
  in("RC RDMA Write Only psn=6 va=0x12000 rkey=0x20 dmalen=0 ackreq");
  out("RC Acknowledge psn=6 msn=2");
  quiet();
}

TEST_F(RcDuplicate, ARepeatThatIsUnderWayDoesNotCountAsOutstanding) {
  attributes.max_reads_in = 1;
  rc();
  in("RC RDMA Read Request psn=5 va=0x12000 rkey=0x20 dmalen=8");
  out("RC RDMA Read Response Only psn=5 msn=1");
  in("RC RDMA Read Request psn=5 va=0x12000 rkey=0x20 dmalen=8");
  in("RC RDMA Read Request psn=6 va=0x12000 rkey=0x20 dmalen=8");
  out("RC RDMA Read Response Only psn=6 msn=2");
  quiet();
}

// 9.7.5.1.5
TEST_F(RcDuplicate, AnAtomicIsNotExecutedAgainButItsResultIsRepeated) {
  rc();
  const std::uint64_t forty = 40;
  std::memcpy(at(0x12000), &forty, 8);
  in("RC Fetch Add psn=5 va=0x12000 rkey=0x20 add=2");
  out("RC Atomic Acknowledge psn=5 msn=1 orig=40");
  in("RC Fetch Add psn=6 va=0x12000 rkey=0x20 add=2");
  out("RC Atomic Acknowledge psn=6 msn=2 orig=42");
  in("RC Fetch Add psn=5 va=0x12000 rkey=0x20 add=2");
  out("RC Atomic Acknowledge psn=5 msn=1 orig=40");
  std::uint64_t value;
  std::memcpy(&value, at(0x12000), 8);
  EXPECT_EQ(value, 44U);
  quiet();
}

TEST_F(RcDuplicate, AnAtomicThatIsForgottenIsDropped) {
  attributes.max_reads_in = 1;
  rc();
  in("RC Fetch Add psn=5 va=0x12000 rkey=0x20 add=2");
  out("RC Atomic Acknowledge psn=5");
  in("RC Fetch Add psn=6 va=0x12000 rkey=0x20 add=2");
  out("RC Atomic Acknowledge psn=6");
  in("RC Fetch Add psn=5 va=0x12000 rkey=0x20 add=2");
  in("RC RDMA Read Request psn=5 va=0x12000 rkey=0x20 dmalen=8");
  quiet();
}

// Responses leave in PSN order (IBTA 9.7.5.1.3).
TEST_F(RcDuplicate, AnAckWaitsForTheReadBeforeIt) {
  rc();
  post_receive(64);
  in("RC RDMA Read Request psn=5 va=0x12000 rkey=0x20 dmalen=2000");
  in("RC Fetch Add psn=7 va=0x12000 rkey=0x20 add=2");
  in("RC Send Only psn=8 len=8 ackreq");
  out("RC RDMA Read Response First psn=5 msn=1");
  out("RC RDMA Read Response Last psn=6 msn=1");
  out("RC Atomic Acknowledge psn=7 msn=2");
  out("RC Acknowledge psn=8 msn=3");
  silent();
}

TEST_F(RcDuplicate, AReadAcknowledgesTheSendBeforeIt) {
  rc();
  post_receive(64);
  in("RC Send Only psn=5 len=8 ackreq");
  in("RC RDMA Read Request psn=6 va=0x12000 rkey=0x20 dmalen=8");
  out("RC RDMA Read Response Only psn=6 len=8 msn=2");
  silent();
}

TEST_F(RcDuplicate, ANakWaitsForTheReadBeforeIt) {
  rc();
  in("RC RDMA Read Request psn=5 va=0x12000 rkey=0x20 dmalen=8");
  in("RC Send Only psn=7 len=8 ackreq");
  out("RC RDMA Read Response Only psn=5 len=8 msn=1");
  out("RC Acknowledge psn=6 nak=sequence msn=1");
  silent();
}

TEST_F(RcDuplicate, ARepeatedReadGoesBeforeALaterOneThatIsUnderWay) {
  rc();
  in("RC RDMA Read Request psn=5 va=0x12000 rkey=0x20 dmalen=8");
  in("RC RDMA Read Request psn=6 va=0x13000 rkey=0x20 dmalen=2048");
  out("RC RDMA Read Response Only psn=5 msn=1");
  out("RC RDMA Read Response First psn=6 msn=2");
  in("RC RDMA Read Request psn=5 va=0x12000 rkey=0x20 dmalen=8");
  in("RC RDMA Read Request psn=6 va=0x13000 rkey=0x20 dmalen=2048");
  out("RC RDMA Read Response Only psn=5 msn=1");
  out("RC RDMA Read Response First psn=6 msn=2");
  out("RC RDMA Read Response Last psn=7 msn=2");
  silent();
}

// The NAK of a packet that the requester never sent names a PSN that it does not know, and tells it nothing.
TEST_F(RcDuplicate, AStrangersPacketTakesNoAckAway) {
  rc();
  post_receive(64);
  in("RC Send Only psn=5 len=8 ackreq");
  in("RC Send Only psn=0x500 len=8 ackreq");
  received("100 success len=8");
  out("RC Acknowledge psn=5 msn=1");
  out("RC Acknowledge psn=6 msn=1 nak=sequence");
  because_of(ReasonId::nak_sequence);
  silent();
}

TEST_F(RcDuplicate, PsnsWrap) {
  attributes.receive_psn = 0xfffffe;
  rc();
  post_receive(8000, 0x12000);
  in("RC Send First psn=0xfffffe len=1024");
  in("RC Send Middle psn=0xffffff len=1024");
  in("RC Send Middle psn=0xfffffe len=1024");
  in("RC Send Middle psn=1 len=1024");
  out("RC Acknowledge psn=0xffffff msn=0");
  out("RC Acknowledge psn=0 nak=sequence msn=0");
  in("RC Send Middle psn=0 len=1024");
  in("RC Send Last psn=1 len=1 ackreq");
  received("100 success len=3073");
  out("RC Acknowledge psn=1 msn=1");
  EXPECT_EQ(qp().receive_psn(), 2U);
  quiet();
}

// 9.7.2: the window reaches 2^23 - 1 ahead; half the number space behind is old.
TEST_F(RcDuplicate, TheValidityWindowIsHalfTheNumberSpace) {
  rc();
  in("RC RDMA Write Only psn=0x800005 va=0x12000 rkey=0x20 len=8 ackreq");  // 2^23 away: behind
  EXPECT_EQ(counted(Counter::duplicates), 1U);
  out("RC Acknowledge psn=4 msn=0");
  in("RC RDMA Write Only psn=0x800004 va=0x12000 rkey=0x20 len=8 ackreq");  // 2^23 - 1: ahead
  out("RC Acknowledge psn=5 nak=sequence msn=0");
  silent();
}

}  // namespace
}  // namespace softrnic::ib::test
