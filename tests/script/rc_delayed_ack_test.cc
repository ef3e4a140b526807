// ACKs that wait for a request of this side (Endpoint::delay_ack): what waits, what does
// not, and when it leaves.
#include "base/reason_id.h"
#include "tests/script/script.h"

namespace softrnic::ib::test {
namespace {

class RcHeldAck : public Script {
 protected:
  /// The ACK of the second WRITE is held; the first one told that there is no receive.
  void hold_where_no_receive_is_known() {
    host.counts_receives = true;
    rc();
    in("RC RDMA Write Only psn=5 va=0x12000 rkey=0x20 dmalen=8 len=8 ackreq");
    out("RC Acknowledge psn=5 msn=1 credits=0");
    in("RC RDMA Write Only psn=6 va=0x12000 rkey=0x20 dmalen=8 len=8 ackreq");
    qp().delay_ack();
    silent();
  }
};

TEST_F(RcHeldAck, LeavesBehindTheNextRequest) {
  rc();
  in("RC RDMA Write Only psn=5 va=0x12000 rkey=0x20 dmalen=8 len=8 ackreq");
  qp().delay_ack();
  silent();
  post("write len=8 va=0x7000 rkey=0x55");
  out("RC RDMA Write Only psn=5 ackreq");
  out("RC Acknowledge psn=5 msn=1");
  quiet();
  in("RC RDMA Write Only psn=6 va=0x12000 rkey=0x20 dmalen=8 len=8 ackreq");
  out("RC Acknowledge psn=6 msn=2");  // held once does not mean held for ever
  quiet();
}

TEST_F(RcHeldAck, LeavesByItselfWhenReleased) {
  rc();
  in("RC RDMA Write Only psn=5 va=0x12000 rkey=0x20 dmalen=8 len=8 ackreq");
  qp().delay_ack();
  silent();
  qp().send_delayed_ack();
  out("RC Acknowledge psn=5 msn=1");
  quiet();
}

TEST_F(RcHeldAck, ReleasedItLeavesBehindARequestThatIsThere) {
  rc();
  in("RC RDMA Write Only psn=5 va=0x12000 rkey=0x20 dmalen=8 len=8 ackreq");
  qp().delay_ack();
  qp().send_delayed_ack();
  post("write len=8 va=0x7000 rkey=0x55");
  out("RC RDMA Write Only psn=5 ackreq");
  out("RC Acknowledge psn=5 msn=1");
  quiet();
}

TEST_F(RcHeldAck, WaitsAlsoWhereNoReceiveWasEverPosted) {
  hold_where_no_receive_is_known();
  post("write len=8 va=0x7000 rkey=0x55");
  out("RC RDMA Write Only psn=5 ackreq");
  out("RC Acknowledge psn=6 msn=2 credits=0");
  quiet();
}

TEST_F(RcHeldAck, ThatTellsOfAReceiveDoesNotWait) {
  hold_where_no_receive_is_known();
  post_receive(8);
  qp().receives_posted();
  out("RC Acknowledge psn=6 msn=2 credits=1");
  quiet();
}

TEST_F(RcHeldAck, AnswersForMeanwhileAreOne) {
  rc();
  in("RC RDMA Write Only psn=5 va=0x12000 rkey=0x20 dmalen=8 len=8 ackreq");
  qp().delay_ack();
  silent();
  in("RC RDMA Write Only psn=6 va=0x12000 rkey=0x20 dmalen=8 len=8 ackreq");
  qp().send_delayed_ack();
  out("RC Acknowledge psn=6 msn=2");
  quiet();
}

TEST_F(RcHeldAck, ANakDoesNotWait) {
  rc();
  in("RC RDMA Write Only psn=5 va=0x12000 rkey=0x20 dmalen=8 len=8 ackreq");
  qp().delay_ack();
  in("RC RDMA Write Only psn=7 va=0x12000 rkey=0x20 dmalen=8 len=8 ackreq");
  out("RC Acknowledge psn=5 msn=1");
  out("RC Acknowledge psn=6 msn=1 nak=sequence");
  because_of(ReasonId::nak_sequence);
}

TEST_F(RcHeldAck, AReadResponseDoesNotWait) {
  rc();
  in("RC RDMA Write Only psn=5 va=0x12000 rkey=0x20 dmalen=8 len=8 ackreq");
  qp().delay_ack();
  in("RC RDMA Read Request psn=6 va=0x12000 rkey=0x20 dmalen=100");
  out("RC RDMA Read Response Only psn=6 len=100 msn=2");  // acknowledges what came before it, too
  quiet();
}

TEST_F(RcHeldAck, IsForgottenWithTheConnection) {
  rc();
  in("RC RDMA Write Only psn=5 va=0x12000 rkey=0x20 dmalen=8 len=8 ackreq");
  qp().delay_ack();
  qp().flush();
  out("RC Acknowledge psn=5 msn=1");  // the error state still sends what is owed
  quiet();
}

}  // namespace
}  // namespace softrnic::ib::test
