// A path without MTU: packets that stand for several of the path MTU, out and in; and one that is undecided.
#include "tests/script/memory_path.h"

#include "base/reason_id.h"

namespace softrnic::ib::test {
namespace {

using std::chrono::seconds;

// ---- packets of which some have come before

TEST_F(MemoryPath, WhatIsKnownOfARequestIsLeftOut) {
  rc();
  post_receive(8192);
  in("RC Send First psn=5 len=2048 packets=2");
  in("RC Send Only psn=5 len=4000 packets=4 ackreq");
  received("100 success len=4000");
  EXPECT_TRUE(holds(kBase, 5, 4000));
  EXPECT_EQ(counted(Counter::duplicates), 1U);
  out("RC Acknowledge psn=8 msn=1");
  in("RC RDMA Write First psn=9 va=0x12000 rkey=0x20 dmalen=4096 len=1024");
  in("RC RDMA Write First psn=9 va=0x12000 rkey=0x20 dmalen=4096 len=3072 packets=3");
  in("RC RDMA Write Last psn=12 len=1024 ackreq");
  EXPECT_TRUE(holds(0x12000, 9, 3072));
  out("RC Acknowledge psn=12 msn=2");
  in("RC Send Only psn=5 len=4000 packets=4 ackreq");  // all of it
  out("RC Acknowledge psn=12 msn=2");
  quiet();
}

TEST_F(MemoryPath, WhatIsKnownOfAResponseIsLeftOut) {
  rc();
  post("read len=4096 va=0x7000 rkey=0x55");
  out("RC RDMA Read Request psn=5 ackreq");
  in("RC RDMA Read Response First psn=5 len=2048 packets=2 msn=1");
  in("RC RDMA Read Response Only psn=5 len=4096 packets=4 msn=1");
  sent("1 success");
  EXPECT_TRUE(holds(kBase, 5, 4096));
  quiet();
}

TEST_F(MemoryPath, WhatIsKnownOfAUcMessageIsLeftOut) {
  uc();
  post_receive(8192);
  in("UC Send First psn=5 len=2048 packets=2");
  in("UC Send Only psn=5 len=4000 packets=4");
  received("100 success len=4000");
  EXPECT_TRUE(holds(kBase, 5, 4000));
  in("UC Send Only psn=5 len=4000 packets=4");
  quiet();
}

// ---- RC, sending

TEST_F(MemoryPath, AMessageLeavesInPacketsThatStandForSeveral) {
  rc();
  post("send len=10000");
  out("RC Send First psn=5 len=4096 packets=4");
  out("RC Send Middle psn=9 len=4096 packets=4");
  out("RC Send Last psn=13 len=1808 packets=2 ackreq");
  in("RC Acknowledge psn=14 msn=1");
  sent("1 success");
  EXPECT_EQ(path.in_flight(), 0U);
  post("send len=4096");
  out("RC Send Only psn=15 len=4096 packets=4 ackreq");
  post("send len=4097");
  out("RC Send First psn=19 len=4096 packets=4");
  out("RC Send Last psn=23 len=1 packets=1 ackreq");
  in("RC Acknowledge psn=23 msn=3");
  sent("2 success");
  sent("3 success");
  quiet();
}

TEST_F(MemoryPath, WritesTellTheirWholeLengthOnceAndTheImmediateAtTheEnd) {
  rc();
  post("write_imm len=5000 va=0x7000 rkey=0x55 imm=9");
  out("RC RDMA Write First psn=5 len=4096 packets=4 va=0x7000 dmalen=5000");
  out("RC RDMA Write Last Immediate psn=9 len=904 packets=1 imm=9 ackreq");
  in("RC Acknowledge psn=9 msn=1");
  sent("1 success");
  quiet();
}

TEST_F(MemoryPath, APathThatIsANetworkAgainCarriesPacketsOfTheMtu) {
  rc();
  post("send len=6144");
  out("RC Send First psn=5 len=4096 packets=4");
  path.set_memory(0, 0);
  out("RC Send Middle psn=9 len=1024 packets=1");
  out("RC Send Last psn=10 len=1024 packets=1 ackreq");
}

TEST_F(MemoryPath, AnAckInTheMiddleOfAPacketCountsWhatItCovers) {
  rc();
  post("send len=8192");
  out("RC Send First psn=5 len=4096 packets=4");
  out("RC Send Last psn=9 len=4096 packets=4 ackreq");
  in("RC Acknowledge psn=10 nak=sequence msn=0");
  out("RC Send Last psn=10 len=3072 packets=3 ackreq");
  in("RC Acknowledge psn=12 msn=1");
  sent("1 success");
  EXPECT_EQ(path.in_flight(), 0U);
  quiet();
}

TEST_F(MemoryPath, WhatWasLostIsSentAgain) {
  rc();
  post("send len=8192");
  out("RC Send First psn=5 len=4096 packets=4");
  out("RC Send Last psn=9 len=4096 packets=4 ackreq");
  in("RC Acknowledge psn=9 nak=sequence msn=0");
  out("RC Send Last psn=9 len=4096 packets=4 ackreq");
  silent();
  in("RC Acknowledge psn=12 msn=1");
  sent("1 success");
  quiet();
}

// A probe is one packet of the path MTU, whatever it is a part of.
TEST_F(MemoryPath, AProbeIsASmallPartAndTheRestFollows) {
  rc();
  post("send len=4096");
  out("RC Send Only psn=5 len=4096 packets=4 ackreq");
  while (qp().deadline() != kNever && qp().transmit(packet, now) != Transmit::packet)
    pass(qp().deadline() - now);
  EXPECT_EQ(packet.headers.bth.psn, 5U);
  EXPECT_EQ(packet.packets, 1U);
  EXPECT_EQ(packet.payload_bytes, 1024U);
  EXPECT_EQ(packet.headers.bth.opcode, wire::Opcode::rc_send_first);
  in("RC Acknowledge psn=5 msn=0");
  out("RC Send Last psn=6 len=3072 packets=3 ackreq");
  in("RC Acknowledge psn=8 msn=1");
  sent("1 success");
  quiet();
}

TEST_F(MemoryPath, AfterRnrThePacketComesAgainAsAWhole) {
  rc();
  post("send len=4096");
  out("RC Send Only psn=5 len=4096 packets=4 ackreq");
  in("RC Acknowledge psn=5 rnr=1 msn=0");
  silent();
  pass(seconds(1));
  out("RC Send Only psn=5 len=4096 packets=4 ackreq");
  in("RC Acknowledge psn=8 msn=1");
  sent("1 success");
  quiet();
}

// ---- RC, receiving

TEST_F(MemoryPath, AMessageIsPutTogetherFromPacketsOfAnySize) {
  rc();
  post_receive(20'000);
  in("RC Send First psn=5 len=4096 packets=4");
  in("RC Send Middle psn=9 len=1024");
  in("RC Send Last psn=10 len=1025 packets=2 ackreq");
  received("100 success len=6145");
  EXPECT_TRUE(holds(kBase, 5, 4096));
  EXPECT_TRUE(holds(kBase + 4096, 9, 1024));
  EXPECT_TRUE(holds(kBase + 5120, 10, 1025));
  out("RC Acknowledge psn=11 msn=1");
  EXPECT_EQ(qp().receive_psn(), 12U);
  quiet();
}

TEST_F(MemoryPath, AWriteOfOnePacketIsManyPsns) {
  rc();
  in("RC RDMA Write Only psn=5 va=0x12000 rkey=0x20 len=3073 packets=4 ackreq");
  EXPECT_TRUE(holds(0x12000, 5, 3073));
  out("RC Acknowledge psn=8 msn=1");
  quiet();
}

struct Length {
  const char* packet;
  bool good;
};

class MemoryPathLengths : public MemoryPath, public ::testing::WithParamInterface<Length> {};

// All packets that one stands for are full but the last one of a message, which has a byte at least.
TEST_P(MemoryPathLengths, AreAsThoseOfThePacketsThatItStandsFor) {
  rc();
  post_receive(20'000);
  in("RC Send First psn=5 len=1024");
  in(std::string(GetParam().packet) + " psn=6 ackreq");
  if (GetParam().good) {
    EXPECT_FALSE(qp().in_error());
    EXPECT_GT(qp().receive_psn(), 6U);
  } else {
    because_of(ReasonId::nak_length);
    EXPECT_TRUE(qp().in_error());
  }
}

INSTANTIATE_TEST_SUITE_P(RcSend, MemoryPathLengths,
                         ::testing::Values(Length{"RC Send Middle packets=2 len=2048", true},
                                           Length{"RC Send Middle packets=2 len=2047", false},
                                           Length{"RC Send Middle packets=2 len=1024", false},
                                           Length{"RC Send Middle packets=2 len=2049", false},
                                           Length{"RC Send Middle packets=3 len=2048", false},
                                           Length{"RC Send Last packets=2 len=1025", true},
                                           Length{"RC Send Last packets=2 len=2048", true},
                                           Length{"RC Send Last packets=2 len=1024", false},
                                           Length{"RC Send Last packets=2 len=2049", false},
                                           Length{"RC Send Last packets=2 len=0", false},
                                           Length{"RC Send Last packets=65536 len=8", false}));

TEST_F(MemoryPath, AnOnlyPacketOfSeveralNeedsBytesInEach) {
  rc();
  post_receive(20'000);
  in("RC Send Only psn=5 len=0 packets=1");
  received("100 success len=0");
  in("RC Send Only psn=6 len=1024 packets=2");
  because_of(ReasonId::nak_length);
  EXPECT_TRUE(qp().in_error());
}

TEST_F(MemoryPath, ADuplicateThatReachesBeyondWhatIsKnownIsPlacedFromThere) {
  rc();
  post_receive(20'000);
  in("RC Send First psn=5 len=4096 packets=4");
  std::fill_n(at(kBase), 20'000, std::byte{0});
  in("RC Send Middle psn=7 len=4096 packets=4");
  EXPECT_EQ(counted(Counter::duplicates), 1U);
  EXPECT_EQ(at(kBase + 2048)[0], std::byte{0});
  for (std::size_t i = 0; i < 2048; ++i) ASSERT_EQ(at(kBase + 4096)[i], payload_byte(7, 2048 + i));
  in("RC Send Last psn=11 len=1024 ackreq");
  received("100 success len=7168");
  out("RC Acknowledge psn=11 msn=1");
  quiet();
}

TEST_F(MemoryPath, ANakNamesThePacketThatIsLacking) {
  rc();
  post_receive(20'000);
  in("RC Send First psn=5 len=4096 packets=4");
  in("RC Send Last psn=13 len=4096 packets=4");
  out("RC Acknowledge psn=9 nak=sequence msn=0");
  in("RC Send Middle psn=9 len=4096 packets=4");
  in("RC Send Last psn=13 len=4096 packets=4 ackreq");
  received("100 success len=12288");
  out("RC Acknowledge psn=16 msn=1");
  quiet();
}

TEST_F(MemoryPath, RnrHoldsTheWholePacketBack) {
  rc();
  in("RC Send Only psn=5 len=4096 packets=4 ackreq");
  out("RC Acknowledge psn=5 rnr=12 msn=0");
  EXPECT_EQ(qp().receive_psn(), 5U);
  post_receive(4096);
  in("RC Send Only psn=5 len=4096 packets=4 ackreq");
  received("100 success len=4096");
  out("RC Acknowledge psn=8 msn=1");
  quiet();
}

TEST_F(MemoryPath, AReceiveThatIsTooShortForOneOfThemEndsTheQp) {
  rc();
  post_receive(4095);
  in("RC Send Only psn=5 len=4096 packets=4 ackreq");
  received("100 local_length");
  out("RC Acknowledge psn=5 nak=invalid msn=0");
  EXPECT_TRUE(qp().in_error());
}

// ---- READ

TEST_F(MemoryPath, AReadIsAnsweredInPacketsThatStandForSeveral) {
  rc();
  in("RC RDMA Read Request psn=5 va=0x11000 rkey=0x20 dmalen=10000");
  out("RC RDMA Read Response First psn=5 len=4096 packets=4");
  out("RC RDMA Read Response Middle psn=9 len=4096 packets=4");
  out("RC RDMA Read Response Last psn=13 len=1808 packets=2 msn=1");
  EXPECT_EQ(packet.fragments[0].key, MemoryKey(kKey)) << "whoever fetches it needs the region";
  in("RC RDMA Read Request psn=9 va=0x12000 rkey=0x20 dmalen=4096");  // a part of it once more
  out("RC RDMA Read Response Only psn=9 len=4096 packets=4");
  quiet();
}

TEST_F(MemoryPath, ResponsesThatStandForSeveralArePlaced) {
  rc();
  post("read len=6000 va=0x7000 rkey=0x55");
  out("RC RDMA Read Request psn=5 dmalen=6000 ackreq");
  in("RC RDMA Read Response First psn=5 len=4096 packets=4 msn=1");
  in("RC RDMA Read Response Last psn=9 len=1904 packets=2 msn=1");
  sent("1 success");
  EXPECT_TRUE(holds(kBase, 5, 4096));
  EXPECT_TRUE(holds(kBase + 4096, 9, 1904));
  EXPECT_EQ(path.in_flight(), 0U);
  quiet();
}

TEST_F(MemoryPath, TheRestOfAReadIsAskedForAgain) {
  rc();
  post("read len=8192 va=0x7000 rkey=0x55");
  out("RC RDMA Read Request psn=5 dmalen=8192 ackreq");
  in("RC RDMA Read Response First psn=5 len=4096 packets=4 msn=1");
  in("RC RDMA Read Response First psn=5 len=4096 packets=4 msn=1");  // a copy
  pass(seconds(1));
  out("RC RDMA Read Request psn=9 va=0x8000 dmalen=4096 ackreq");
  in("RC RDMA Read Response Only psn=9 len=4096 packets=4 msn=1");
  sent("1 success");
  quiet();
}

TEST_F(MemoryPath, AResponseOfAnotherLengthOrBeyondItsReadEndsTheQp) {
  for (const char* response : {"First psn=5 len=4095 packets=4", "First psn=5 len=4096 packets=3",
                               "Only psn=5 len=6000 packets=7", "Only psn=5 len=6000 packets=65536"}) {
    rc();
    post("read len=6000 va=0x7000 rkey=0x55");
    out("RC RDMA Read Request psn=5 ackreq");
    in(std::string("RC RDMA Read Response msn=1 ") + response);
    ASSERT_EQ(host.sends.size(), 1U);
    EXPECT_EQ(host.sends.front().status, Status::bad_response) << response;
    host.sends.clear();
  }
}

// ---- UC

TEST_F(MemoryPath, UcMessagesLeaveAndArriveInPacketsThatStandForSeveral) {
  uc();
  post("send len=5000");
  out("UC Send First psn=5 len=4096 packets=4");
  out("UC Send Last psn=9 len=904 packets=1");
  sent("1 success");
  post_receive(20'000);
  in("UC Send First psn=5 len=4096 packets=4");
  in("UC Send Last psn=9 len=2047 packets=2");
  received("100 success len=6143");
  EXPECT_TRUE(holds(kBase + 4096, 9, 2047));
  EXPECT_EQ(qp().receive_psn(), 11U);
  quiet();
}

TEST_F(MemoryPath, UcTakesOfCopiesWhatReachesFurther) {
  uc();
  post_receive(20'000);
  in("UC Send First psn=5 len=4096 packets=4");
  in("UC Send Middle psn=7 len=4096 packets=4");
  EXPECT_EQ(counted(Counter::duplicates), 1U);
  in("UC Send Last psn=11 len=8");
  received("100 success len=6152");
  in("UC Send Middle psn=7 len=4096 packets=4");  // all of it
  EXPECT_EQ(counted(Counter::duplicates), 2U);
  quiet();
}

// ---- a path of which it is not known yet which way it goes

TEST_F(MemoryPath, NothingLeavesBeforeTheWayIsKnown) {
  path.set_undecided(true);
  rc();
  post("send len=4096");
  blocked();
  path.set_undecided(false);
  out("RC Send Only psn=5 len=4096 packets=4 ackreq");
}

TEST_F(MemoryPath, UnacknowledgedServicesLookAgainBeforeTheWayIsKnown) {
  path.set_undecided(true);
  uc();
  post("send len=4096");
  EXPECT_NE(qp().transmit(packet, now), Transmit::packet);
  const TimePoint again = qp().deadline();
  EXPECT_GT(again, now);
  EXPECT_LE(again, now + PathWindow::kLookAgain);
  path.set_undecided(false);
  pass(again - now);
  out("UC Send Only psn=5 len=4096 packets=4");
  sent("1 success");
}

}  // namespace
}  // namespace softrnic::ib::test
