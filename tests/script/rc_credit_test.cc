// End-to-end flow control (IBTA 9.7.7.2).
#include "base/reason_id.h"
#include "tests/script/script.h"

namespace softrnic::ib::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class RcCredit : public Script {
 protected:
  /// The first message, after which the peer has told of so many receives.
  void begin(const std::string& credits) {
    rc_limited();
    post("send len=8");
    out("RC Send Only psn=5 ackreq");
    in("RC Acknowledge psn=5 msn=1 credits=" + credits);
    sent("1 success");
  }
  void count_receives() { host.counts_receives = true; }
};

// ---- the requester

TEST_F(RcCredit, OneMessageUntilTheFirstAck) {
  rc_limited();
  for (int i = 0; i < 3; ++i) post("send len=8");
  out("RC Send Only psn=5 ackreq");
  silent();
  in("RC Acknowledge psn=5 msn=1");  // it does not count
  sent("1 success");
  out("RC Send Only psn=6 ackreq");
  out("RC Send Only psn=7 ackreq");
}

TEST_F(RcCredit, NoMessageBeginsThatWouldFindNoReceive) {
  begin("2");
  for (int i = 0; i < 4; ++i) post("send len=8");
  out("RC Send Only psn=6 ackreq");
  out("RC Send Only psn=7 ackreq");
  silent();
  in("RC Acknowledge psn=6 msn=2 credits=2");  // the program has posted one more
  sent("2 success");
  out("RC Send Only psn=8 ackreq");
  silent();
}

TEST_F(RcCredit, ALongMessageThatTakesTheLastReceiveAsksForAnAckAtItsEnd) {
  begin("1");
  post("send len=2500");
  out("RC Send First psn=6 len=1024");
  out("RC Send Middle psn=7 len=1024");
  out("RC Send Last psn=8 len=452 ackreq");
}

TEST_F(RcCredit, WritesAndReadsPassButNotAheadOfASend) {
  begin("0");
  post("write len=8");
  post("read len=8");
  post("send len=8");
  post("write len=8");
  out("RC RDMA Write Only psn=6 ackreq");
  out("RC RDMA Read Request psn=7 ackreq");
  silent();
}

TEST_F(RcCredit, AnAckThatNobodyAskedForLetsTheNextMessageGo) {
  begin("0");
  post("send len=8");
  silent();
  in("RC Acknowledge psn=5 msn=1 credits=1");
  out("RC Send Only psn=6 ackreq");
  silent();
}

TEST_F(RcCredit, AMessageThatHearsNothingAsksItself) {
  begin("0");
  post("send len=8");
  post("send len=8");
  silent();
  pass(milliseconds(3));
  silent();
  pass(milliseconds(1));
  out("RC Send Only psn=6 ackreq");
  silent();
  in("RC Acknowledge psn=6 rnr=1 msn=1");
  because_of(ReasonId::got_nak_rnr);
  pass(milliseconds(1));
  out("RC Send Only psn=6 ackreq");
  in("RC Acknowledge psn=6 msn=2 credits=0");
  sent("2 success");
  silent();
}

TEST_F(RcCredit, WhereThatWouldEndTheConnectionItWaitsLonger) {
  attributes.rnr_retry = 0;
  begin("0");
  post("send len=8");
  silent();
  pass(milliseconds(999));
  silent();
  pass(milliseconds(1));
  out("RC Send Only psn=6 ackreq");
}

// ---- the responder

TEST_F(RcCredit, AnAckTellsHowManyReceivesThereAre) {
  count_receives();
  rc();
  for (int i = 0; i < 10; ++i) post_receive(8);
  in("RC Send Only psn=5 len=8 ackreq");
  received("100 success len=8");
  out("RC Acknowledge psn=5 msn=1 credits=8");  // 9, of which the wire can say 8
}

TEST_F(RcCredit, APeerThatKnowsOfNoMoreIsToldAtOnce) {
  count_receives();
  rc();
  for (int i = 0; i < 3; ++i) post_receive(8);
  in("RC Send Only psn=5 len=8");
  received("100 success len=8");
  out("RC Acknowledge psn=5 msn=1 credits=2");
  in("RC Send Only psn=6 len=8");
  received("101 success len=8");
  silent();
  in("RC Send Only psn=7 len=8");
  received("102 success len=8");
  silent();
  post_receive(8);
  EXPECT_TRUE(host.wants_receives());
  qp().receives_posted();
  out("RC Acknowledge psn=7 msn=3 credits=1");
  EXPECT_FALSE(host.wants_receives());
  silent();
}

TEST_F(RcCredit, TheReceiveOfAMessageThatIsComingInCounts) {
  count_receives();
  rc();
  post_receive(4096);
  in("RC Send First psn=5 len=1024 ackreq");
  out("RC Acknowledge psn=5 msn=0 credits=1");
}

TEST_F(RcCredit, AReadResponseTellsAsWell) {
  count_receives();
  rc();
  for (int i = 0; i < 4; ++i) post_receive(8);
  in("RC RDMA Read Request psn=5 va=0x12000 rkey=0x20 dmalen=8");
  out("RC RDMA Read Response Only psn=5 msn=1 credits=4");
}

TEST_F(RcCredit, SharedReceivesAreNotCounted) {
  rc();
  post_receive(8);
  in("RC Send Only psn=5 len=8 ackreq");
  received("100 success len=8");
  out("RC Acknowledge psn=5 msn=1");
}

}  // namespace
}  // namespace softrnic::ib::test
