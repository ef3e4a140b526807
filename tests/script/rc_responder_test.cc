// The RC responder, IBTA vol. 1, 9.7.4: what it executes, and what it answers.
#include "base/reason_id.h"
#include "tests/script/script.h"

namespace softrnic::ib::test {
namespace {

using std::chrono::milliseconds;

using RcResponder = Script;

TEST_F(RcResponder, PutsASendIntoTheReceiveAndAcknowledges) {
  rc();
  post_receive(3000, 0x12000);
  in("RC Send First psn=5 len=1024");
  in("RC Send Middle psn=6 len=1024");
  silent();
  in("RC Send Last Immediate psn=7 len=100 imm=77 ackreq se");
  received("100 success len=2148 imm=77 se");
  EXPECT_TRUE(holds(0x12000, 5, 1024));
  EXPECT_TRUE(holds(0x12400, 6, 1024));
  EXPECT_TRUE(holds(0x12800, 7, 100));
  out("RC Acknowledge psn=7 msn=1");
  quiet();
}

TEST_F(RcResponder, AcknowledgesABatchOnce) {
  rc();
  for (int i = 0; i < 3; ++i) post_receive(64);
  in("RC Send Only psn=5 len=8 ackreq");
  in("RC Send Only psn=6 len=8 ackreq");
  in("RC Send Only psn=7 len=8");
  out("RC Acknowledge psn=7 msn=3");
  received("100 success len=8");
  received("101 success len=8");
  received("102 success len=8");
  quiet();
}

TEST_F(RcResponder, WritesWhereTheRethSays) {
  rc();
  in("RC RDMA Write First psn=5 va=0x12000 rkey=0x20 dmalen=1500 len=1024");
  in("RC RDMA Write Last psn=6 len=476 ackreq");
  out("RC Acknowledge psn=6 msn=1");
  EXPECT_TRUE(holds(0x12000, 5, 1024));
  EXPECT_TRUE(holds(0x12400, 6, 476));
  post_receive(0);
  in("RC RDMA Write Only Immediate psn=7 va=0 rkey=0 len=0 imm=3 ackreq");
  received("100 success len=0 imm=3 write");
  out("RC Acknowledge psn=7 msn=2");
  quiet();
}

TEST_F(RcResponder, AnswersAReadFromMemory) {
  rc();
  in("RC RDMA Read Request psn=5 va=0x12000 rkey=0x20 dmalen=2500");
  out("RC RDMA Read Response First psn=5 len=1024 msn=1");
  EXPECT_EQ(packet.fragments[0].data, at(0x12000));
  out("RC RDMA Read Response Middle psn=6 len=1024");
  out("RC RDMA Read Response Last psn=7 len=452 msn=1");
  EXPECT_EQ(packet.fragments[0].data, at(0x12800));
  quiet();
}

TEST_F(RcResponder, ExecutesAtomics) {
  rc();
  const std::uint64_t forty = 40;
  std::memcpy(at(0x12000), &forty, 8);
  in("RC Fetch Add psn=5 va=0x12000 rkey=0x20 add=2");
  in("RC Compare Swap psn=6 va=0x12000 rkey=0x20 cmp=42 swap=7");
  in("RC Compare Swap psn=7 va=0x12000 rkey=0x20 cmp=42 swap=8");
  out("RC Atomic Acknowledge psn=5 msn=1 orig=40");
  out("RC Atomic Acknowledge psn=6 msn=2 orig=42");
  out("RC Atomic Acknowledge psn=7 msn=3 orig=7");
  quiet();
}

TEST_F(RcResponder, AnAtomicOnAWordThatSomebodyHoldsIsAskedForAgainAfterAWhile) {
  attributes.max_reads_in = 1;
  rc();
  const std::uint64_t forty = 40;
  std::memcpy(at(0x12000), &forty, 8);
  host.words_taken = true;
  in("RC Fetch Add psn=5 va=0x12000 rkey=0x20 add=2");
  because_of(ReasonId::nak_atomic_busy);
  in("RC Send Only psn=6 len=8");  // of the same burst
  pass(milliseconds(3));
  quiet();
  pass(milliseconds(1));
  out("RC Acknowledge psn=5 msn=0 nak=sequence");
  pass(milliseconds(100));
  quiet();
  in("RC Fetch Add psn=5 va=0x12000 rkey=0x20 add=2");
  pass(milliseconds(4));
  out("RC Acknowledge psn=5 msn=0 nak=sequence");
  in("RC Fetch Add psn=5 va=0x12000 rkey=0x20 add=2");
  host.words_taken = false;
  in("RC Fetch Add psn=5 va=0x12000 rkey=0x20 add=2");
  out("RC Atomic Acknowledge psn=5 msn=1 orig=40");
  pass(milliseconds(100));
  quiet();
}

// Timeout 0 leaves it to the responder: nobody else would have what is behind the atomic sent again.
TEST_F(RcResponder, ACopyOfABusyAtomicDoesNotHideThatPacketsBehindItWereDropped) {
  rc();
  const std::uint64_t forty = 40;
  std::memcpy(at(0x12000), &forty, 8);
  host.words_taken = true;
  in("RC Fetch Add psn=5 va=0x12000 rkey=0x20 add=2");
  because_of(ReasonId::nak_atomic_busy);
  in("RC Send Only psn=6 len=8");
  in("RC Send Only psn=7 len=8 ackreq");
  host.words_taken = false;
  in("RC Fetch Add psn=5 va=0x12000 rkey=0x20 add=2");  // the network doubled it
  out("RC Atomic Acknowledge psn=5 msn=1 orig=40");
  out("RC Acknowledge psn=6 msn=1 nak=sequence");
  pass(milliseconds(100));
  quiet();
}

TEST_F(RcResponder, AsksForWhatIsStillMissingWhenTheFirstComesBeforeItsNakGoesOut) {
  attributes.path_mtu = 1024;
  rc();
  in("RC RDMA Write Only psn=6 va=0x12000 rkey=0x20 dmalen=8 len=8");
  in("RC RDMA Write Only psn=7 va=0x12000 rkey=0x20 dmalen=8 len=8 ackreq");
  because_of(ReasonId::nak_wrong_psn);
  in("RC RDMA Write Only psn=5 va=0x12000 rkey=0x20 dmalen=8 len=8");
  in("RC RDMA Write Only psn=6 va=0x12000 rkey=0x20 dmalen=8 len=8");
  out("RC Acknowledge psn=7 msn=2 nak=sequence");
  in("RC RDMA Write Only psn=7 va=0x12000 rkey=0x20 dmalen=8 len=8 ackreq");
  out("RC Acknowledge psn=7 msn=3");
  pass(milliseconds(100));
  quiet();
}

TEST_F(RcResponder, AnswersWithPayloadWhenItIsKnownWhichWayThatGoes) {
  PathWindow& path = own_window;
  window = &path;
  rc();
  path.set_undecided(true);
  in("RC RDMA Write Only psn=5 va=0x12000 rkey=0x20 dmalen=8 len=8 ackreq");
  out("RC Acknowledge psn=5 msn=1");
  in("RC RDMA Read Request psn=6 va=0x12000 rkey=0x20 dmalen=1500");
  in("RC Fetch Add psn=8 va=0x12000 rkey=0x20 add=2");
  in("RC RDMA Write Only psn=9 va=0x12000 rkey=0x20 dmalen=8 len=8 ackreq");
  blocked();
  blocked();
  path.set_undecided(false);
  out("RC RDMA Read Response First psn=6 len=1024");
  out("RC RDMA Read Response Last psn=7 len=476");
  out("RC Atomic Acknowledge psn=8 msn=3");
  out("RC Acknowledge psn=9 msn=4");
  quiet();
}

TEST_F(RcResponder, OfWhoHasWorkOfItsOwnIsBlockedAllTheSame) {
  PathWindow& path = own_window;
  window = &path;
  rc();
  path.set_undecided(true);
  post("send len=8");
  in("RC RDMA Read Request psn=5 va=0x12000 rkey=0x20 dmalen=100");
  blocked();
  blocked();
  path.set_undecided(false);
  out("RC RDMA Read Response Only psn=5 len=100");
  out("RC Send Only psn=5 len=8 ackreq");
}

TEST_F(RcResponder, NobodyIsAskedAgainWhoseConnectionIsOver) {
  rc();
  host.words_taken = true;
  in("RC Fetch Add psn=5 va=0x12000 rkey=0x20 add=2");
  EXPECT_NE(qp().deadline(), kNever);
  qp().flush();
  EXPECT_EQ(qp().deadline(), kNever);
  quiet();
}

}  // namespace
}  // namespace softrnic::ib::test
