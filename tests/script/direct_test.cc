// Messages without packets, in turn with those that have some: they take no PSN.
#include "tests/script/script.h"

namespace softrnic::ib::test {
namespace {

class Direct : public Script {
 protected:
  static constexpr unsigned kPlenty = 1000;
  /// The endpoint's next step must be one without a packet.
  void direct(Where where = Where::current()) {
    SCOPED_TRACE(where.line);
    EXPECT_EQ(qp().transmit(packet, now), Transmit::direct);
  }
  using Moves = std::vector<FakeHost::Direct>;
};

TEST_F(Direct, AWriteTakesNoPsn) {
  rc();
  host.direct_budget = kPlenty;
  post("write len=8 va=0x7000 rkey=0x55");
  direct();
  sent("1 success");
  EXPECT_EQ(host.directs, (Moves{{0, 5}}));
  post("send len=8");
  out("RC Send Only psn=5 len=8 ackreq");
  in("RC Acknowledge psn=5 msn=1");
  sent("2 success");
  quiet();
}

TEST_F(Direct, AWorkRequestWithNothingBeforeItGoesAtOnce) {
  rc();
  host.direct_budget = kPlenty;
  for (const char* id : {"1", "2"}) {
    post("write len=8 va=0x7000 rkey=0x55");
    EXPECT_TRUE(qp().go_at_once());
    sent(std::string(id) + " success");
  }
  EXPECT_EQ(host.directs, (Moves{{0, 5}, {0, 5}}));
  quiet();
}

TEST_F(Direct, WhatMovesNothingGoesAtOnceToo) {
  rc();
  host.direct_budget = kPlenty;
  for (const char* empty : {"write len=0 va=0 rkey=0", "read len=0 va=0 rkey=0",
                            "flush inline va=0x7000 rkey=0x55 dmalen=64 feth=0x1"}) {
    post(empty);
    EXPECT_TRUE(qp().go_at_once()) << empty;
  }
  for (const char* id : {"1", "2", "3"}) sent(std::string(id) + " success");
  EXPECT_EQ(host.directs, (Moves{{0, 5}, {0, 5}, {0, 5}}));
  quiet();
}

TEST_F(Direct, WhatMovesNothingGoesAfterAllBeforeIt) {
  rc();
  post("write len=8 va=0x7000 rkey=0x55");
  out("RC RDMA Write Only psn=5 len=8 ackreq");
  host.direct_budget = kPlenty;
  post("write len=0 va=0 rkey=0");
  EXPECT_FALSE(qp().go_at_once());
  out("RC RDMA Write Only psn=6 len=0 ackreq");
  in("RC Acknowledge psn=6 msn=2");
  sent("1 success");
  sent("2 success");
  post("write len=1500 va=0x7000 rkey=0x55");
  post("flush inline va=0x7000 rkey=0x55 dmalen=64 feth=0x1");
  EXPECT_FALSE(qp().go_at_once());
  direct();
  direct();
  EXPECT_EQ(host.sends.size(), 1U);
  direct();
  sent("3 success");
  sent("4 success");
  EXPECT_EQ(host.directs, (Moves{{0, 7}, {1000, 7}, {0, 7}}));
  quiet();
}

TEST_F(Direct, NothingGoesAtOnceThatIsNotFirstAndOneSided) {
  rc();
  host.direct_budget = kPlenty;
  post("send len=8");
  EXPECT_FALSE(qp().go_at_once());
  out("RC Send Only psn=5 len=8 ackreq");
  post("write len=8 va=0x7000 rkey=0x55");
  EXPECT_FALSE(qp().go_at_once());
  in("RC Acknowledge psn=5 msn=1");
  sent("1 success");
  post("write len=8 va=0x7000 rkey=0x55");
  EXPECT_FALSE(qp().go_at_once());  // it is the second
  EXPECT_TRUE(host.directs.empty());
  direct();
  direct();
  sent("2 success");
  sent("3 success");
  quiet();
}

TEST_F(Direct, WhatIsRefusedAtOnceGoesByPackets) {
  rc();
  post("write len=8 va=0x7000 rkey=0x55");
  EXPECT_FALSE(qp().go_at_once());
  out("RC RDMA Write Only psn=5 va=0x7000 rkey=0x55 dmalen=8 len=8 ackreq");
  in("RC Acknowledge psn=5 msn=1");
  sent("1 success");
  quiet();
}

TEST_F(Direct, OnePostAsksOnce) {
  rc();
  post("write len=8 va=0x7000 rkey=0x55");
  EXPECT_FALSE(qp().go_at_once());
  out("RC RDMA Write Only psn=5 len=8 ackreq");
  EXPECT_EQ(host.direct_calls, 1U);
  in("RC Acknowledge psn=5 msn=1");
  sent("1 success");
  post("write len=8 va=0x7000 rkey=0x55");
  EXPECT_FALSE(qp().go_at_once());
  out("RC RDMA Write Only psn=6 len=8 ackreq");
  EXPECT_EQ(host.direct_calls, 2U);
  in("RC Acknowledge psn=6 msn=2");
  sent("2 success");
  quiet();
}

TEST_F(Direct, WhatWasRefusedAtOnceAndMustWaitIsAskedForAgain) {
  PathWindow& full = own_window;
  full.sent(1U << 30);
  window = &full;
  rc();
  post("write len=8 va=0x7000 rkey=0x55");
  EXPECT_FALSE(qp().go_at_once());
  EXPECT_EQ(qp().transmit(packet, now), Transmit::blocked);
  EXPECT_EQ(host.direct_calls, 1U);
  host.direct_budget = kPlenty;
  direct();
  sent("1 success");
  full.forgotten(1U << 30);
  quiet();
}

TEST_F(Direct, WhatDoesNotGoAtOnceAsAWholeGoesOn) {
  rc();
  host.direct_budget = kPlenty;
  post("write len=1500 va=0x7000 rkey=0x55");
  EXPECT_FALSE(qp().go_at_once());
  EXPECT_TRUE(host.sends.empty());
  direct();
  sent("1 success");
  EXPECT_EQ(host.directs, (Moves{{0, 5}, {1000, 5}}));
  quiet();
}

TEST_F(Direct, ADrainedQueuePairBeginsNothingAtOnce) {
  rc();
  host.direct_budget = kPlenty;
  qp().drain();
  event(QpEvent::send_queue_drained);
  post("write len=8 va=0x7000 rkey=0x55");
  EXPECT_FALSE(qp().go_at_once());
  silent();
  qp().resume();
  direct();
  sent("1 success");
  quiet();
}

TEST_F(Direct, ALongMessageGoesInPieces) {
  rc();
  host.direct_budget = kPlenty;
  post("read len=2500 at=0x20000 va=0x7000 rkey=0x55");
  direct();
  direct();
  EXPECT_TRUE(host.sends.empty());
  direct();
  sent("1 success");
  EXPECT_EQ(host.directs, (Moves{{0, 5}, {1000, 5}, {2000, 5}}));
  quiet();
}

TEST_F(Direct, AMessageThatIsRefusedHalfWayGoesByPacketsFromItsBeginning) {
  rc();
  host.direct_budget = 2;
  post("write len=2500 va=0x7000 rkey=0x55");
  direct();
  direct();
  out("RC RDMA Write First psn=5 va=0x7000 rkey=0x55 dmalen=2500 len=1024");
  out("RC RDMA Write Middle psn=6 len=1024");
  out("RC RDMA Write Last psn=7 len=452 ackreq");
  in("RC Acknowledge psn=7 msn=1");
  sent("1 success");
  quiet();
}

TEST_F(Direct, WaitsForAllPacketsToBeAcknowledged) {
  capacity.send_wqes = 128;
  rc();
  post("write len=8 va=0x7000 rkey=0x55");
  out("RC RDMA Write Only psn=5 len=8 ackreq");
  for (int i = 0; i < 63; ++i) {  // after a refusal it trusts packets for a while
    post("write len=8 va=0x7000 rkey=0x55");
    out("RC RDMA Write Only len=8 ackreq");
  }
  host.direct_budget = kPlenty;
  post("write len=8 va=0x7000 rkey=0x55");
  silent();
  in("RC Acknowledge psn=67 msn=63");
  silent();
  in("RC Acknowledge psn=68 msn=64");
  direct();
  EXPECT_EQ(host.directs, (Moves{{0, 69}}));
  for (int i = 1; i <= 65; ++i) sent(std::to_string(i) + " success");
  quiet();
}

TEST_F(Direct, AShortWriteBehindASendDoesNotWait) {
  rc();
  host.direct_budget = kPlenty;
  post("send len=8");
  post("write len=8 va=0x7000 rkey=0x55");
  post("write len=20000 va=0x7000 rkey=0x55");
  out("RC Send Only psn=5 len=8 ackreq");
  out("RC RDMA Write Only psn=6 len=8 ackreq");
  silent();  // the long one waits
  in("RC Acknowledge psn=6 msn=2");
  for (int i = 0; i < 20; ++i) direct();
  sent("1 success");
  sent("2 success");
  sent("3 success");
  quiet();
}

TEST_F(Direct, AFailureOfPacketsIsOneOfPackets) {
  rc();
  host.direct_budget = 0;
  post("write len=8 va=0x7000 rkey=0x55");
  out("RC RDMA Write Only psn=5 len=8 ackreq");
  in("RC Acknowledge psn=5 nak=access");
  sent("1 remote_access");
}

TEST_F(Direct, DrainingFinishesAMessageThatHasBegun) {
  rc();
  host.direct_budget = 1;
  post("write len=2500 va=0x7000 rkey=0x55");
  post("write len=8 va=0x7000 rkey=0x55");
  direct();
  qp().drain();
  EXPECT_FALSE(qp().drained());
  out("RC RDMA Write First psn=5 va=0x7000 rkey=0x55 dmalen=2500 len=1024");
  out("RC RDMA Write Middle psn=6 len=1024");
  out("RC RDMA Write Last psn=7 len=452 ackreq");
  silent();
  in("RC Acknowledge psn=7 msn=1");
  sent("1 success");
  event(QpEvent::send_queue_drained);
  host.direct_budget = kPlenty;
  silent();
  qp().resume();
  direct();
  sent("2 success");
  quiet();
}

TEST_F(Direct, DrainingWhileAMessageGoesDirect) {
  rc();
  host.direct_budget = kPlenty;
  post("write len=1500 va=0x7000 rkey=0x55");
  direct();
  qp().drain();
  EXPECT_FALSE(qp().drained());
  direct();
  EXPECT_TRUE(qp().drained());
  sent("1 success");
  event(QpEvent::send_queue_drained);
  quiet();
}

TEST_F(Direct, FlushForgetsWhatWasMoved) {
  rc();
  host.direct_budget = kPlenty;
  post("write len=2500 va=0x7000 rkey=0x55");
  direct();
  qp().flush();
  sent("1 flushed");
  qp().reset();
  qp().start_responder(attributes);
  qp().start_requester(attributes);
  post("write len=8 va=0x7000 rkey=0x55");
  direct();
  EXPECT_EQ(host.directs.back(), (FakeHost::Direct{0, 5}));
  sent("2 success");
  quiet();
}

TEST_F(Direct, UcTakesNoPsnEither) {
  uc();
  host.direct_budget = 3;
  post("write len=1500 va=0x7000 rkey=0x55");
  post("send len=8");
  post("write len=1500 va=0x7000 rkey=0x55");
  direct();
  direct();
  sent("1 success");
  out("UC Send Only psn=5 len=8");
  sent("2 success");
  direct();
  out("UC RDMA Write First psn=6 va=0x7000 rkey=0x55 dmalen=1500 len=1024");
  out("UC RDMA Write Last psn=7 len=476");
  sent("3 success");
  EXPECT_EQ(host.directs, (Moves{{0, 5}, {1000, 5}, {0, 6}}));
  quiet();
}

TEST_F(Direct, UcGoesAtOnceToo) {
  uc();
  host.direct_budget = 3;
  post("write len=8 va=0x7000 rkey=0x55");
  EXPECT_TRUE(qp().go_at_once());
  sent("1 success");
  post("write len=1500 va=0x7000 rkey=0x55");
  EXPECT_FALSE(qp().go_at_once());  // a piece of it
  post("write len=8 va=0x7000 rkey=0x55");
  EXPECT_FALSE(qp().go_at_once());  // it is the second
  direct();
  sent("2 success");
  out("UC RDMA Write Only psn=5 len=8");
  sent("3 success");
  EXPECT_EQ(host.directs, (Moves{{0, 5}, {0, 5}, {1000, 5}}));
  quiet();
}

TEST_F(Direct, OnePostOfUcAsksOnce) {
  uc();
  for (const char* id : {"1", "2"}) {
    post("write len=8 va=0x7000 rkey=0x55");
    EXPECT_FALSE(qp().go_at_once());
    out("UC RDMA Write Only len=8");
    sent(std::string(id) + " success");
  }
  EXPECT_EQ(host.direct_calls, 2U);
  quiet();
}

TEST_F(Direct, UcDrainsAMessageThatHasBegunAlsoWhenItsPacketsMustWait) {
  struct Buffer final : Gauge {
    std::uint32_t bytes = 0;
    std::uint32_t room(TimePoint) override { return bytes; }
  } buffer;
  PathWindow& gauged = own_window;
  gauged.observe(&buffer);
  window = &gauged;
  uc();
  host.direct_budget = 1;
  post("write len=1500 va=0x7000 rkey=0x55");
  direct();
  qp().drain();
  EXPECT_FALSE(qp().drained());
  silent();
  buffer.bytes = 64 * 1024;
  pass(std::chrono::milliseconds(2));
  out("UC RDMA Write First psn=5 va=0x7000 rkey=0x55 dmalen=1500 len=1024");
  out("UC RDMA Write Last psn=6 len=476");
  sent("1 success");
  event(QpEvent::send_queue_drained);
  EXPECT_TRUE(qp().drained());
  quiet();
}

}  // namespace
}  // namespace softrnic::ib::test
