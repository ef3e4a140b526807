// Packets that stand for several and are not what their peer may say: from a socket (put together by the
// link, "joined") and from a ring alike.
#include "base/reason_id.h"
#include "tests/script/memory_path.h"

namespace softrnic::ib::test {
namespace {

using std::chrono::seconds;

using JoinedPackets = MemoryPath;

// ---- each packet's own length (IBTA 9.7.4.1.6)

struct Row {
  const char* packet;
  bool good;
};

class JoinedLengths : public MemoryPath, public ::testing::WithParamInterface<Row> {};

TEST_P(JoinedLengths, OfARequestAreThoseOfEachOfThem) {
  rc();
  post_receive(20'000);
  in("RC Send First psn=5 len=1024");
  in(std::string("RC Send ") + GetParam().packet + " psn=6 ackreq elsewhere");
  EXPECT_EQ(qp().in_error(), !GetParam().good);
  if (!GetParam().good) because_of(ReasonId::nak_length);
}

TEST_P(JoinedLengths, OfAUcMessageAreThoseOfEachOfThem) {
  uc();
  post_receive(20'000);
  in("UC Send First psn=5 len=1024");
  in(std::string("UC Send ") + GetParam().packet + " psn=6 elsewhere");
  if (GetParam().good) {
    EXPECT_TRUE(host.reasons.empty());
  } else {
    because_of(ReasonId::nak_length);
    EXPECT_TRUE(host.recvs.empty());
  }
}

// 10 packets are due, the last of 500 bytes: where the sum is that of so many, only the single length is
// wrong.
TEST_P(JoinedLengths, OfAResponseAreThoseOfEachOfThem) {
  rc();
  post("read len=9716 va=0x7000 rkey=0x55");
  out("RC RDMA Read Request psn=5 ackreq");
  in("RC RDMA Read Response First psn=5 len=1024 msn=1");
  in(std::string("RC RDMA Read Response ") + GetParam().packet + " psn=6 msn=1 elsewhere");
  if (!GetParam().good) {
    sent("1 bad_response");
    because_of(ReasonId::bad_response);
  } else if (std::string(GetParam().packet).starts_with("Last")) {
    sent("1 bad_response");  // 4 packets are not the end
  } else {
    EXPECT_TRUE(host.sends.empty());
  }
}

INSTANTIATE_TEST_SUITE_P(Row, JoinedLengths,
                         ::testing::Values(Row{"Middle packets=3 len=3072 joined=1024", true},
                                           Row{"Middle packets=3 len=3072 joined=1023", false},
                                           Row{"Middle packets=3 len=3072 joined=1025", false},
                                           Row{"Middle packets=3 len=3072 joined=1028", false},
                                           Row{"Middle packets=3 len=3060 joined=1020", false},
                                           Row{"Middle packets=3 len=3069 joined=1023", false},
                                           Row{"Middle packets=3 len=12288 joined=4096", false},
                                           Row{"Last packets=3 len=2049 joined=1024", true},
                                           Row{"Last packets=3 len=3072 joined=1024", true},
                                           Row{"Last packets=3 len=2049 joined=1023", false},
                                           Row{"Last packets=3 len=3060 joined=1020", false},
                                           Row{"Last packets=3 len=3072 joined=1028", false},
                                           Row{"Last packets=9 len=8692 joined=1025", false}));

// Who has forgotten the path MTU is told what came, not the sum of it.
TEST_F(JoinedPackets, ALengthIsToldAsItWasOnTheWire) {
  rc();
  post_receive(20'000);
  in("RC Send Only psn=5 len=8192 packets=4 joined=2048 elsewhere");
  EXPECT_TRUE(qp().in_error());
  ASSERT_FALSE(host.reasons.empty());
  const Reason& reason = host.reasons.back();
  EXPECT_EQ(reason.id, ReasonId::nak_length);
  EXPECT_EQ(reason.figures[0], 2048U);
  EXPECT_EQ(reason.figures[1], 1024U);
  EXPECT_EQ(reason.figures[2], static_cast<std::uint64_t>(wire::Opcode::rc_send_first));
}

// What is left of a row may be a last packet that is in order by itself.
TEST_F(JoinedPackets, WhatIsLeftOfARowIsJudgedByItself) {
  rc();
  post_receive(20'000);
  in("RC Send First psn=5 len=1024");
  in("RC Send Middle psn=6 len=1024");
  in("RC Send Only psn=5 len=2058 packets=3 joined=1024 ackreq elsewhere");
  received("100 success len=2058");
  out("RC Acknowledge psn=7 msn=1");
  quiet();
}

// ---- what cannot be one of several (SEND, WRITE and READ responses alone have more than one packet)

struct Lone {
  QpType type;
  const char* packet;
};

class NotJoinable : public MemoryPath, public ::testing::WithParamInterface<Lone> {};

TEST_P(NotJoinable, ClaimsToBeSeveralInVain) {
  attributes.max_reads_in = 4;
  switch (GetParam().type) {
    case QpType::rc:
      rc();
      break;
    case QpType::uc:
      uc();
      break;
    case QpType::ud:
      ud();
      break;
    case QpType::xrc_initiator:
      xrc_initiator();
      break;
    case QpType::xrc_target:
      host.srqs = {1};
      xrc_target();
      break;
    case QpType::raw_packet:
      FAIL() << "it has frames, and no packets of InfiniBand";
  }
  post_receive(20'000);
  const std::uint32_t expected = qp().receive_psn();
  for (const char* claim :
       {" packets=2", " packets=3 elsewhere", " packets=65536", " packets=2 joined=1024"}) {
    const std::uint64_t before = counted(Counter::drop_malformed);
    EXPECT_FALSE(lacks_receive(std::string(GetParam().packet) + claim));
    in(std::string(GetParam().packet) + claim);
    EXPECT_EQ(counted(Counter::drop_malformed), before + 1) << claim;
    because_of(ReasonId::drop_not_joinable);
  }
  EXPECT_EQ(qp().receive_psn(), expected);
  EXPECT_FALSE(qp().in_error());
  quiet();
}

INSTANTIATE_TEST_SUITE_P(
    Packet, NotJoinable,
    ::testing::Values(Lone{QpType::rc, "RC RDMA Read Request psn=5 va=0x12000 rkey=0x20 dmalen=8"},
                      Lone{QpType::rc, "RC Compare Swap psn=5 va=0x12000 rkey=0x20"},
                      Lone{QpType::rc, "RC Fetch Add psn=5 va=0x12000 rkey=0x20 add=1"},
                      Lone{QpType::rc, "RC Fetch Add psn=4 va=0x12000 rkey=0x20 add=1"},
                      Lone{QpType::rc, "RC RDMA Read Request psn=4 va=0x12000 rkey=0x20 dmalen=8"},
                      Lone{QpType::rc, "RC Acknowledge psn=5 msn=1"},
                      Lone{QpType::rc, "RC Acknowledge psn=5 nak=invalid msn=1"},
                      Lone{QpType::rc, "RC Atomic Acknowledge psn=5 msn=1"},
                      Lone{QpType::ud, "UD Send Only psn=5 qkey=0x1234 len=8"}));

TEST_F(JoinedPackets, AnAtomicAcknowledgeOfTwoDoesNotPassItsRequest) {
  rc();
  post("faa va=0x7000 rkey=0x55 add=1");
  post("send len=8");
  out("RC Fetch Add psn=5 ackreq");
  out("RC Send Only psn=6 len=8 ackreq");
  in("RC Atomic Acknowledge psn=5 msn=1 packets=2");
  EXPECT_TRUE(host.sends.empty());
  because_of(ReasonId::drop_not_joinable);
  in("RC Atomic Acknowledge psn=5 msn=1");
  sent("1 success");
  in("RC Acknowledge psn=6 msn=2");
  sent("2 success");
  quiet();
}

TEST_F(JoinedPackets, AGhostAcknowledgeOfSeveralAcknowledgesNothing) {
  rc();
  post("send len=8");
  out("RC Send Only psn=5 len=8 ackreq");
  in("RC Acknowledge psn=3 msn=0 packets=4 elsewhere len=4096");
  EXPECT_TRUE(host.sends.empty());
  in("RC Acknowledge psn=5 msn=1");
  sent("1 success");
}

// A READ is asked for in pieces, and each answer belongs to one of them: what is beyond has not been asked
// for yet.
TEST_F(JoinedPackets, AResponseDoesNotReachBeyondWhatWasAskedFor) {
  attributes.max_reads_out = 4;
  path.set_memory(kLongest, 64 * 1024);
  for (const bool both : {false, true}) {
    rc();
    post("read len=65536 va=0x7000 rkey=0x55");
    out("RC RDMA Read Request psn=5 ackreq dmalen=16384");
    if (both) out("RC RDMA Read Request psn=21 ackreq dmalen=16384");
    in("RC RDMA Read Response First psn=5 len=24576 packets=24 msn=1 elsewhere");
    ASSERT_EQ(host.sends.size(), 1U);
    EXPECT_EQ(host.sends.front().status, Status::bad_response);
    host.sends.clear();
  }
}

TEST_F(JoinedPackets, AResponseEndsWithItsLastPacketAndWithNoOther) {
  for (const char* response : {"Middle psn=6 len=1024", "Last psn=6 len=1024", "First psn=6 len=1024"}) {
    rc();
    const bool too_early = std::string(response).starts_with("Last");
    post(too_early ? "read len=3072 va=0x7000 rkey=0x55" : "read len=2048 va=0x7000 rkey=0x55");
    out("RC RDMA Read Request psn=5 ackreq");
    in("RC RDMA Read Response First psn=5 len=1024 msn=1");
    in(std::string("RC RDMA Read Response msn=1 ") + response);
    ASSERT_EQ(host.sends.size(), 1U) << response;
    EXPECT_EQ(host.sends.front().status, Status::bad_response) << response;
    host.sends.clear();
  }
}

// ---- what has no payload, or a fixed one

TEST_F(JoinedPackets, WhatHasNoPayloadIsRefusedWithOne) {
  for (const char* request : {"RC RDMA Read Request psn=5 va=0x12000 rkey=0x20 dmalen=8",
                              "RC Fetch Add psn=5 va=0x12000 rkey=0x20 add=1"}) {
    attributes.max_reads_in = 4;
    rc();
    in(std::string(request) + " len=4");
    because_of(ReasonId::nak_length);
    out("RC Acknowledge psn=5 nak=invalid msn=0");
    EXPECT_TRUE(qp().in_error());
  }
}

TEST_F(JoinedPackets, AnAtomicAcknowledgeWithAPayloadIsABadResponse) {
  rc();
  post("faa va=0x7000 rkey=0x55 add=1");
  out("RC Fetch Add psn=5 ackreq");
  in("RC Atomic Acknowledge psn=5 msn=1 len=8");
  sent("1 bad_response");
}

TEST_F(JoinedPackets, AnAcknowledgeWithAPayloadIsNone) {
  rc();
  post("send len=8");
  out("RC Send Only psn=5 len=8 ackreq");
  in("RC Acknowledge psn=5 msn=1 len=4");
  EXPECT_EQ(counted(Counter::drop_malformed), 1U);
  because_of(ReasonId::bad_response);
  EXPECT_TRUE(host.sends.empty());
}

TEST_F(JoinedPackets, AResponseHasTheLengthOfItsOpcode) {
  for (const char* response : {"First psn=5 len=500", "Middle psn=5 len=500"}) {
    rc();
    post("read len=500 va=0x7000 rkey=0x55");
    out("RC RDMA Read Request psn=5 ackreq");
    in(std::string("RC RDMA Read Response msn=1 ") + response);
    ASSERT_EQ(host.sends.size(), 1U);
    EXPECT_EQ(host.sends.front().status, Status::bad_response) << response;
    host.sends.clear();
  }
}

// ---- UD

// A neighbour writes the ring, so it can name a payload that is not there; that is no trouble of this queue
// pair.
TEST_F(JoinedPackets, ADatagramWhosePayloadIsGoneIsLostAndTheReceiveStays) {
  ud();
  post_receive(2000);
  fetches = 0;
  in("UD Send Only psn=5 qkey=0x1234 len=500 elsewhere");
  EXPECT_EQ(counted(Counter::drop_payload), 1U);
  because_of(ReasonId::payload_gone);
  EXPECT_FALSE(qp().in_error());
  fetches = 1;
  in("UD Send Only psn=6 qkey=0x1234 len=500 elsewhere");
  ASSERT_EQ(host.recvs.size(), 1U);
  EXPECT_EQ(host.recvs.front().status, Status::success);
  EXPECT_EQ(host.recvs.front().length, 540U);
}

}  // namespace
}  // namespace softrnic::ib::test
