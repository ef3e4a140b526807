// What the RC requester does when something got lost (IBTA 9.7.5.1.1, 9.7.5.2, 9.7.6).
#include "base/reason_id.h"
#include "tests/script/script.h"
#include "transport/ib/timers.h"

namespace softrnic::ib::test {
namespace {

using std::chrono::milliseconds;

class RcLoss : public Script {
 protected:
  void post_and_send(int messages) {
    for (int i = 0; i < messages; ++i) {
      post("send len=8");
      out("RC Send Only psn=" + std::to_string(5 + i) + " ackreq");
    }
    silent();
  }
};

TEST_F(RcLoss, OneAckCompletesEverythingBeforeIt) {
  rc();
  post_and_send(3);
  in("RC Acknowledge psn=6 msn=2");
  sent("1 success");
  sent("2 success");
  in("RC Acknowledge psn=6 msn=2");  // again: no effect
  in("RC Acknowledge psn=5 msn=1");  // late: no effect
  quiet();
  in("RC Acknowledge psn=7 msn=3");
  sent("3 success");
  quiet();
}

TEST_F(RcLoss, AnAckForWhatWasNeverSentIsIgnored) {
  rc();
  post_and_send(1);
  in("RC Acknowledge psn=6 msn=2");
  because_of(ReasonId::bad_response);
  quiet();
}

// 9.7.5.2.2
TEST_F(RcLoss, ASequenceNakAcknowledgesWhatIsBeforeItAndSendsTheRestAgain) {
  rc();
  post_and_send(3);
  in("RC Acknowledge psn=6 nak=sequence msn=1");
  sent("1 success");
  because_of(ReasonId::got_nak_sequence);
  out("RC Send Only psn=6 ackreq");
  in("RC Acknowledge psn=6 nak=sequence msn=1");  // the network doubled it
  out("RC Send Only psn=7 ackreq");
  silent();
  in("RC Acknowledge psn=7 msn=3");
  sent("2 success");
  sent("3 success");
  EXPECT_EQ(counted(Counter::retransmits), 2U);
  quiet();
}

// The word of an atomic was in other hands twice: nothing is lost, so nothing else would make
// this side send it again.
TEST_F(RcLoss, APeerMayAskForTheSamePacketAgainLater) {
  attributes.timeout = 0;
  rc();
  post("faa at=0x20000 va=0x7000 rkey=0x55 add=1");
  for (int i = 0; i < 20; ++i) {
    out("RC Fetch Add psn=5 ackreq");
    pass(milliseconds(5));
    quiet();
    in("RC Acknowledge psn=5 nak=sequence msn=0");
  }
  out("RC Fetch Add psn=5 ackreq");
  in("RC Atomic Acknowledge psn=5 msn=1 orig=7");
  sent("1 success");
  quiet();
}

TEST_F(RcLoss, GoesBackIntoTheMiddleOfAMessage) {
  rc();
  post("write len=3000 va=0x7000 rkey=0x55");
  out("RC RDMA Write First psn=5 dmalen=3000");
  out("RC RDMA Write Middle psn=6");
  out("RC RDMA Write Last psn=7 ackreq");
  in("RC Acknowledge psn=6 nak=sequence msn=0");
  out("RC RDMA Write Middle psn=6 len=1024");
  EXPECT_EQ(packet.fragments[0].data, at(kBase + 1024));
  out("RC RDMA Write Last psn=7 len=952 ackreq");
  in("RC Acknowledge psn=7 msn=1");
  sent("1 success");
  quiet();
}

TEST_F(RcLoss, ALateAckAfterGoingBackIsBelieved) {
  rc();
  post_and_send(3);
  in("RC Acknowledge psn=5 nak=sequence msn=0");
  in("RC Acknowledge psn=6 msn=2");
  sent("1 success");
  sent("2 success");
  out("RC Send Only psn=7 ackreq");
  in("RC Acknowledge psn=7 msn=3");
  sent("3 success");
  quiet();
}

// A lost tail leaves no sign: the oldest packet is sent again long before the ACK timeout, and its ACK tells.
TEST_F(RcLoss, AProbeFindsALostTail) {
  rc();
  post_and_send(3);
  pass(milliseconds(2));
  out("RC Send Only psn=5 ackreq");
  silent();
  in("RC Acknowledge psn=5 msn=1");  // so the peer has nothing after it
  sent("1 success");
  out("RC Send Only psn=6 ackreq");
  out("RC Send Only psn=7 ackreq");
  in("RC Acknowledge psn=7 msn=3");
  sent("2 success");
  sent("3 success");
  EXPECT_EQ(counted(Counter::timeouts), 0U);
  quiet();
}

TEST_F(RcLoss, AProbeFindsALostAck) {
  rc();
  post_and_send(3);
  pass(milliseconds(2));
  out("RC Send Only psn=5 ackreq");
  in("RC Acknowledge psn=7 msn=3");
  for (const char* line : {"1 success", "2 success", "3 success"}) sent(line);
  quiet();
  EXPECT_EQ(qp().deadline(), kNever);
}

TEST_F(RcLoss, ProbesBecomeRarer) {
  rc();
  post_and_send(1);
  pass(milliseconds(2));
  out("RC Send Only psn=5 ackreq");
  pass(milliseconds(3));
  silent();
  pass(milliseconds(1));
  out("RC Send Only psn=5 ackreq");
  silent();
}

// 9.7.6.1.3: between T and 4T
TEST_F(RcLoss, GivesUpAfterRetryCountTimeouts) {
  attributes.timeout = 14;  // 67 ms
  attributes.retry_count = 2;
  rc();
  post("send len=8");
  post("send len=8");
  const TimePoint start = now;
  for (int sends = 0; host.sends.empty(); ++sends) {
    ASSERT_LT(sends, 1000);
    while (qp().transmit(packet, now) == Transmit::packet) {
    }
    pass(milliseconds(1));
  }
  sent("1 retry_exceeded");
  sent("2 flushed");
  because_of(ReasonId::retry_exceeded);
  EXPECT_GE(now - start, 3 * ack_timeout(14));
  EXPECT_LE(now - start, 3 * 4 * ack_timeout(14) + milliseconds(3));
  EXPECT_EQ(counted(Counter::timeouts), 3U);
  EXPECT_TRUE(qp().in_error());
  EXPECT_EQ(qp().deadline(), kNever);
  quiet();
}

TEST_F(RcLoss, ProgressRefillsTheRetryCount) {
  attributes.timeout = 10;
  attributes.retry_count = 1;
  rc();
  post_and_send(2);
  const Duration once = 4 * ack_timeout(10);
  for (std::uint32_t psn : {5U, 6U}) {
    pass(once + milliseconds(1));
    out("RC Send Only psn=" + std::to_string(psn) + " ackreq");
    while (qp().transmit(packet, now) == Transmit::packet) {
    }
    EXPECT_TRUE(host.sends.empty());
    in("RC Acknowledge psn=" + std::to_string(psn) + " msn=1");
    sent(std::to_string(psn - 4) + " success");
  }
  quiet();
}

TEST_F(RcLoss, ATimeoutOfZeroWaitsForEver) {
  attributes.timeout = 0;
  rc();
  post_and_send(1);
  pass(std::chrono::hours(1));
  silent();
  EXPECT_EQ(qp().deadline(), kNever);
  post("send len=8");
  out("RC Send Only psn=6 ackreq");  // its answer may tell what became of the other
  in("RC Acknowledge psn=6 msn=2");
  sent("1 success");
  sent("2 success");
  quiet();
}

// What is not answered for long is not under way any more: other QPs of the path may have
// its place in the window.
TEST_F(RcLoss, ASilentPeersQpLeavesTheWindowAndSendsNothingNew) {
  PathWindow& path = own_window;
  window = &path;
  rc();
  post_and_send(1);
  pass(milliseconds(2));
  out("RC Send Only psn=5 ackreq");
  EXPECT_GT(path.in_flight(), 0U);
  pass(milliseconds(12));
  out("RC Send Only psn=5 ackreq");
  EXPECT_EQ(path.in_flight(), 0U);
  post("send len=8");
  silent();
  in("RC Acknowledge psn=5 msn=1");
  sent("1 success");
  out("RC Send Only psn=6 ackreq");
  in("RC Acknowledge psn=6 msn=2");
  sent("2 success");
  EXPECT_EQ(path.in_flight(), 0U);
}

// IBTA 9.7.6: a later answer shows that an earlier READ response was lost.
TEST_F(RcLoss, AnAckBeyondAReadAsksForTheReadAgain) {
  rc();
  post("read len=2048 va=0x7000 rkey=0x55 at=0x20000");
  post("send len=8");
  out("RC RDMA Read Request psn=5 dmalen=2048 ackreq");
  out("RC Send Only psn=7 ackreq");
  in("RC Acknowledge psn=7 msn=2");
  EXPECT_TRUE(host.sends.empty());
  out("RC RDMA Read Request psn=5 dmalen=2048 ackreq");
  out("RC Send Only psn=7 ackreq");
  in("RC RDMA Read Response First psn=5 len=1024 msn=1");
  in("RC RDMA Read Response Last psn=6 len=1024 msn=1");
  in("RC Acknowledge psn=7 msn=2");
  sent("1 success");
  sent("2 success");
  quiet();
}

TEST_F(RcLoss, AMissingReadResponseIsAskedForFromThere) {
  rc();
  post("read len=4096 va=0x7000 rkey=0x55 at=0x20000");
  out("RC RDMA Read Request psn=5 dmalen=4096 ackreq");
  in("RC RDMA Read Response First psn=5 len=1024 msn=1");
  in("RC RDMA Read Response Middle psn=7 len=1024");
  in("RC RDMA Read Response Last psn=8 len=1024 msn=1");  // a sign of the same loss
  out("RC RDMA Read Request psn=6 va=0x7400 rkey=0x55 dmalen=3072 ackreq");
  silent();
  in("RC RDMA Read Response First psn=6 len=1024 msn=1");
  in("RC RDMA Read Response Middle psn=7 len=1024");
  in("RC RDMA Read Response Last psn=8 len=1024 msn=1");
  sent("1 success");
  for (std::uint32_t i = 0; i < 4; ++i) EXPECT_TRUE(holds(0x20000 + i * 1024, 5 + i, 1024));
  quiet();
}

// Were the request lost and the probe shorter, the peer would take the probe for the request.
TEST_F(RcLoss, AReadProbeAsksForWhatWasAskedFor) {
  rc();
  post("read len=3000 va=0x7000 rkey=0x55 at=0x20000");
  out("RC RDMA Read Request psn=5 dmalen=3000 ackreq");
  pass(milliseconds(2));
  out("RC RDMA Read Request psn=5 va=0x7000 dmalen=3000 ackreq");
  in("RC RDMA Read Response First psn=5 len=1024 msn=1");
  pass(milliseconds(8));  // what was answered after 2 ms may have taken so long
  out("RC RDMA Read Request psn=6 va=0x7400 dmalen=1976 ackreq");
  in("RC RDMA Read Response First psn=6 len=1024 msn=1");
  in("RC RDMA Read Response Last psn=7 len=952 msn=1");
  sent("1 success");
  quiet();
}

TEST_F(RcLoss, ALostAtomicIsSentAgainWithTheSamePsn) {
  rc();
  post("faa at=0x20000 va=0x7000 rkey=0x55 add=1");
  out("RC Fetch Add psn=5 ackreq");
  pass(milliseconds(2));
  out("RC Fetch Add psn=5 va=0x7000 add=1 ackreq");
  in("RC Atomic Acknowledge psn=5 msn=1 orig=9");
  in("RC Atomic Acknowledge psn=5 msn=1 orig=9");
  sent("1 success");
  quiet();
}

// IBTA 9.7.5
TEST_F(RcLoss, AResponseAcknowledgesWhatIsBeforeIt) {
  rc();
  post("write len=8 va=0x7000 rkey=0x55");
  post("read len=8 va=0x7000 rkey=0x55 at=0x20000");
  out("RC RDMA Write Only psn=5 ackreq");
  out("RC RDMA Read Request psn=6 ackreq");
  in("RC RDMA Read Response Only psn=6 len=8 msn=2");
  sent("1 success");
  sent("2 success");
  quiet();
}

TEST_F(RcLoss, PsnsWrap) {
  attributes.send_psn = 0xfffffe;
  rc();
  post("send len=4000");
  out("RC Send First psn=0xfffffe");
  out("RC Send Middle psn=0xffffff");
  out("RC Send Middle psn=0");
  out("RC Send Last psn=1 ackreq");
  in("RC Acknowledge psn=0 nak=sequence msn=0");
  out("RC Send Middle psn=0");
  out("RC Send Last psn=1 ackreq");
  in("RC Acknowledge psn=0xffffff msn=0");
  in("RC Acknowledge psn=1 msn=1");
  sent("1 success");
  EXPECT_EQ(qp().send_psn(), 2U);
  quiet();
}

// A region may go away while a message waits for its ACK.
TEST_F(RcLoss, SendingAgainFromADeregisteredRegionFails) {
  rc();
  post_and_send(2);
  host.regions.erase(kKey);
  in("RC Acknowledge psn=5 nak=sequence msn=0");
  silent();
  sent("1 local_protection");
  sent("2 flushed");
  because_of(ReasonId::lkey_unknown);
  EXPECT_TRUE(qp().in_error());
}

TEST_F(RcLoss, InlineDataOutlivesItsBuffer) {
  rc();
  post("send len=8 inline");
  const std::byte first = *at(kBase);
  *at(kBase) = ~first;
  host.regions.erase(kKey);
  out("RC Send Only psn=5 len=8 ackreq");
  EXPECT_EQ(packet.fragments[0].data[0], first);
  in("RC Acknowledge psn=5 nak=sequence msn=0");
  out("RC Send Only psn=5 len=8 ackreq");
  in("RC Acknowledge psn=5 msn=1");
  sent("1 success");
}

}  // namespace
}  // namespace softrnic::ib::test
