// How much the RC requester sends: windows, requests for ACKs, READ pieces, fence (IBTA 9.7.3).
#include "tests/script/script.h"

namespace softrnic::ib::test {
namespace {

using std::chrono::milliseconds;

class RcFlow : public Script {
 protected:
  RcFlow() { window = &path; }
  static PathWindow::Limits limits() {
    PathWindow::Limits l;
    l.initial_bytes = 4 * 1088;  // four packets of 1024 with their overhead
    l.minimum_bytes = 1088;
    return l;
  }
  PathWindow path{limits()};
};

TEST_F(RcFlow, FillsTheWindowAndAsksForAnAckWithThePacketThatDoes) {
  rc();
  post("write len=8192 va=0x7000 rkey=0x55");
  out("RC RDMA Write First psn=5");
  out("RC RDMA Write Middle psn=6 ackreq");  // half the window
  out("RC RDMA Write Middle psn=7");
  out("RC RDMA Write Middle psn=8 ackreq");
  blocked();
  EXPECT_EQ(path.in_flight(), 4 * 1088U);
  in("RC Acknowledge psn=6 msn=0");
  EXPECT_EQ(path.in_flight(), 2 * 1088U);
  out("RC RDMA Write Middle psn=9");
  out("RC RDMA Write Middle psn=10 ackreq");
  blocked();
  qp().flush();
  EXPECT_EQ(path.in_flight(), 0U);
}

/// Sixteen packets of 1024 with their overhead: half a window are eight, silly_below() are two.
class RcFlowInABigWindow : public Script {
 protected:
  static constexpr std::uint32_t kPacket = 1088;
  RcFlowInABigWindow() {
    window = &path;
    rc();
  }
  static PathWindow::Limits limits() {
    PathWindow::Limits l;
    l.initial_bytes = 16 * kPacket;
    l.minimum_bytes = kPacket;
    return l;
  }
  void packets(unsigned count) {
    for (unsigned i = 0; i < count; ++i) {
      ASSERT_EQ(qp().transmit(packet, now), Transmit::packet) << i;
      EXPECT_FALSE(packet.headers.bth.ack_request) << i;
    }
  }
  PathWindow path{limits()};
};

TEST_F(RcFlowInABigWindow, AnEndThatIsNearAsksForTheHalfOfTheWindowToo) {
  post("write len=10240 va=0x7000 rkey=0x55");
  packets(9);
  out("RC RDMA Write Last psn=14 ackreq");
}

TEST_F(RcFlowInABigWindow, AHalfOfItAsksWhereTheEndIsFarther) {
  post("write len=11264 va=0x7000 rkey=0x55");
  packets(7);
  out("RC RDMA Write Middle psn=12 ackreq");
  packets(2);
  out("RC RDMA Write Last psn=15 ackreq");
}

TEST_F(RcFlowInABigWindow, WhoFillsItAndAwaitsAnAckDoesNotAskAgain) {
  post("write len=32768 va=0x7000 rkey=0x55");
  packets(7);
  out("RC RDMA Write Middle psn=12 ackreq");
  path.sent(4 * kPacket);
  packets(3);
  blocked();
  in("RC Acknowledge psn=12 msn=0");
  packets(4);
  out("RC RDMA Write Middle psn=20 ackreq");
}

// Others that fill the window with it may do the same, and nobody's answer would open it again.
TEST_F(RcFlowInABigWindow, AnAckThatMakesLittleRoomIsNotEnough) {
  path.sent(7 * kPacket);
  post("write len=8 va=0x7000 rkey=0x55");
  post("write len=10240 va=0x7000 rkey=0x55");
  out("RC RDMA Write Only psn=5 ackreq");
  packets(6);
  out("RC RDMA Write Middle psn=12 ackreq");
  blocked();
}

TEST_F(RcFlowInABigWindow, ALongMessageWaitsForMuchRoom) {
  path.sent(13 * kPacket);
  post("write len=32768 va=0x7000 rkey=0x55");
  packets(1);
  out("RC RDMA Write Middle psn=6 ackreq");
  blocked();
  EXPECT_TRUE(path.has_room());
  path.acknowledged(kPacket - 1);
  blocked();
  path.acknowledged(1);
  packets(1);
  blocked();
}

TEST_F(RcFlowInABigWindow, WhatTheRestOfItTakesDoesNotWait) {
  path.sent(15 * kPacket);
  post("send len=512");
  post("send len=1024");
  out("RC Send Only psn=5 ackreq");
  blocked();
  path.acknowledged(576);
  out("RC Send Only psn=6 ackreq");
}

// An answer that was lost must not be waited for: what goes again asks again.
TEST_F(RcFlowInABigWindow, AfterALossItAsksAgain) {
  post("write len=32768 va=0x7000 rkey=0x55");
  packets(7);
  out("RC RDMA Write Middle psn=12 ackreq");
  packets(2);
  in("RC Acknowledge psn=5 nak=sequence msn=0");
  EXPECT_EQ(path.window(), 8 * kPacket);
  path.sent(5 * kPacket);
  packets(2);
  out("RC RDMA Write Middle psn=7 ackreq");
}

TEST_F(RcFlow, AnotherQpOnTheSamePathCounts) {
  rc();
  path.sent(4 * 1088);
  post("send len=8");
  blocked();
  EXPECT_EQ(qp().deadline(), kNever);
  path.acknowledged(1088);
  out("RC Send Only psn=5 ackreq");
  EXPECT_EQ(path.in_flight(), 3 * 1088U + 8 + 64);
}

TEST_F(RcFlow, GoingBackGivesTheWindowBackAndHalvesIt) {
  rc();
  for (int i = 0; i < 3; ++i) post("send len=1024");
  for (int i = 5; i < 8; ++i) out("RC Send Only ackreq psn=" + std::to_string(i));
  in("RC Acknowledge psn=5 nak=sequence msn=0");
  EXPECT_EQ(path.in_flight(), 0U);
  EXPECT_EQ(path.window(), 2 * 1088U);
  out("RC Send Only psn=5 ackreq");
  out("RC Send Only psn=6 ackreq");
  blocked();
}

TEST_F(RcFlow, WhatALateAckCoversLeavesTheWindowOnce) {
  rc();
  for (int i = 0; i < 3; ++i) post("send len=1024");
  for (int i = 5; i < 8; ++i) out("RC Send Only ackreq psn=" + std::to_string(i));
  in("RC Acknowledge psn=5 nak=sequence msn=0");
  out("RC Send Only psn=5 ackreq");
  in("RC Acknowledge psn=6 msn=2");
  EXPECT_EQ(path.in_flight(), 0U);
  out("RC Send Only psn=7 ackreq");
  in("RC Acknowledge psn=7 msn=3");
  EXPECT_EQ(path.in_flight(), 0U);
}

TEST_F(RcFlow, AsksForAnAckEvery64Packets) {
  window = nullptr;
  capacity.send_sges = 1;
  rc();
  post("write len=131072 va=0x7000 rkey=0x55");
  for (unsigned i = 0; i < 128; ++i) {
    ASSERT_EQ(qp().transmit(packet, now), Transmit::packet);
    EXPECT_EQ(packet.headers.bth.ack_request, i % 64 == 63) << i;
  }
}

// A READ is asked for in pieces, so that its responses fit the window.
TEST(RcReadPieces, AreWholePacketsAndReRequestsStayInsideOne) {
  struct Pieces : Script {
    PathWindow path;
    void TestBody() override {
      window = &path;  // 128 KiB: pieces of 32 KiB with four READs outstanding
      attributes.max_reads_out = 4;
      attributes.path_mtu = 4096;
      rc();
      post("read len=100000 va=0x7000 rkey=0x55 at=0x10000");
      out("RC RDMA Read Request psn=5 va=0x7000 dmalen=32768 ackreq");
      out("RC RDMA Read Request psn=13 va=0xf000 dmalen=32768 ackreq");
      out("RC RDMA Read Request psn=21 va=0x17000 dmalen=32768 ackreq");
      out("RC RDMA Read Request psn=29 va=0x1f000 dmalen=1696 ackreq");
      silent();
      const auto respond = [this](int psn) {
        const bool ends_a_piece = psn == 12 || psn == 20 || psn == 28;
        in(std::string("RC RDMA Read Response ") + (ends_a_piece ? "Last" : "Middle") +
           " len=4096 psn=" + std::to_string(psn));
      };
      for (int psn = 5; psn < 14; ++psn) respond(psn);
      in("RC RDMA Read Response Middle len=4096 psn=16");  // 14 is lost
      out("RC RDMA Read Request psn=14 va=0x10000 dmalen=28672 ackreq");
      out("RC RDMA Read Request psn=21 va=0x17000 dmalen=32768 ackreq");
      out("RC RDMA Read Request psn=29 va=0x1f000 dmalen=1696 ackreq");
      for (int psn = 14; psn < 29; ++psn) respond(psn);
      in("RC RDMA Read Response Last len=1696 psn=29");
      sent("1 success");
      EXPECT_EQ(path.in_flight(), 0U);
      quiet();
    }
  } pieces;
  pieces.TestBody();
}

TEST_F(RcFlow, NoMoreReadsAndAtomicsThanAgreed) {
  window = nullptr;
  attributes.max_reads_out = 2;
  rc();
  post("read len=8");
  post("faa");
  post("read len=8");
  out("RC RDMA Read Request psn=5 ackreq");
  out("RC Fetch Add psn=6 ackreq");
  silent();
  in("RC RDMA Read Response Only psn=5 len=8");
  out("RC RDMA Read Request psn=7 ackreq");
  silent();
}

// IBTA 10.8.3
TEST_F(RcFlow, AFencedWorkRequestWaitsForReads) {
  window = nullptr;
  rc();
  post("read len=8");
  post("write len=8");
  post("send len=8 fence");
  out("RC RDMA Read Request psn=5 ackreq");
  out("RC RDMA Write Only psn=6 ackreq");
  silent();
  in("RC RDMA Read Response Only psn=5 len=8");
  out("RC Send Only psn=7 ackreq");
}

TEST_F(RcFlow, AFenceDoesNotWaitForWrites) {
  window = nullptr;
  rc();
  post("write len=8");
  post("send len=8 fence");
  out("RC RDMA Write Only psn=5 ackreq");
  out("RC Send Only psn=6 ackreq");
}

TEST_F(RcFlow, UnsignaledWorkRequestsAreSilent) {
  window = nullptr;
  rc();
  post("send len=8 unsignaled");
  post("send len=8");
  out("RC Send Only psn=5 ackreq");
  out("RC Send Only psn=6 ackreq");
  in("RC Acknowledge psn=6 msn=2");
  sent("2 success");
  EXPECT_EQ(qp().outstanding_sends(), 0U);
  quiet();
}

TEST_F(RcFlow, SmallSgesFillOnePacket) {
  window = nullptr;
  capacity.send_sges = 32;
  rc();
  post("send len=64 sges=32");
  out("RC Send Only psn=5 len=64 ackreq");
  EXPECT_EQ(packet.fragment_count, 32U);
}

TEST_F(RcFlow, AnswersAndRequestsTakeTurns) {
  window = nullptr;
  rc();
  post("send len=2048");
  in("RC RDMA Read Request psn=5 va=0x12000 rkey=0x20 dmalen=3072");
  out("RC RDMA Read Response First psn=5");
  out("RC Send First psn=5");
  out("RC RDMA Read Response Middle psn=6");
  out("RC Send Last psn=6 ackreq");
  out("RC RDMA Read Response Last psn=7");
  silent();
}

}  // namespace
}  // namespace softrnic::ib::test
