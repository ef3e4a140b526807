// Requests that are refused and what both sides make of it (IBTA 9.7.4.1, 9.9.2, 9.9.3).
#include <algorithm>

#include "base/reason_id.h"
#include "tests/script/script.h"

namespace softrnic::ib::test {
namespace {

/// Expects the NAK and the end of the QP.
class RcError : public Script {
 protected:
  void refused(const std::string& nak, ReasonId reason, Where where = Where::current()) {
    EXPECT_TRUE(qp().in_error()) << where.line;
    because_of(reason, where);
    out("RC Acknowledge " + nak, where);
    silent(where);
  }
};

TEST_F(RcError, UnknownKey) {
  rc();
  in("RC RDMA Write Only psn=5 va=0x12000 rkey=0x99 len=8 ackreq");
  event(QpEvent::access_error);
  refused("psn=5 nak=access msn=0", ReasonId::nak_rkey_unknown);
  EXPECT_EQ(counted(Counter::nak_access_sent), 1U);
}

// IBTA 11.6.2, Local Access Error
TEST_F(RcError, AReceiveThatAWriteWithImmediateWouldHaveTakenEndsWithIt) {
  rc();
  post_receive(0);
  in("RC RDMA Write Only Immediate psn=5 va=0x12000 rkey=0x99 len=8 imm=3 ackreq");
  received("100 local_access");
  refused("psn=5 nak=access msn=0", ReasonId::nak_rkey_unknown);
}

TEST_F(RcError, AWriteWithImmediateThatFindsNoReceiveEndsWithAnEvent) {
  rc();
  in("RC RDMA Write Only Immediate psn=5 va=0x12000 rkey=0x99 len=8 imm=3 ackreq");
  event(QpEvent::access_error);
  refused("psn=5 nak=access msn=0", ReasonId::nak_rkey_unknown);
}

TEST_F(RcError, TheWholeRangeOfAWriteIsCheckedAtItsFirstPacket) {
  rc();
  in("RC RDMA Write First psn=5 va=0x4ff00 rkey=0x20 dmalen=2000 len=1024");
  refused("psn=5 nak=access", ReasonId::nak_rkey_range);
}

TEST_F(RcError, RegionWithoutTheRight) {
  rc();
  host.regions[kKey].access = kLocalWrite | kRemoteRead;
  in("RC Fetch Add psn=5 va=0x12000 rkey=0x20 add=1");
  refused("psn=5 nak=access", ReasonId::nak_rkey_access);
}

TEST_F(RcError, QpWithoutTheRight) {
  attributes.access = kRemoteWrite;
  rc();
  in("RC RDMA Read Request psn=5 va=0x12000 rkey=0x20 dmalen=8");
  event(QpEvent::request_error);
  refused("psn=5 nak=invalid", ReasonId::nak_qp_access);
}

TEST_F(RcError, QpWithoutWriteOrAtomicRight) {
  attributes.access = kRemoteRead;
  rc();
  in("RC RDMA Write Only psn=5 va=0x12000 rkey=0x20 len=8");
  refused("psn=5 nak=invalid", ReasonId::nak_qp_access);
}

TEST_F(RcError, OfAWriteWhoseRightIsTakenTheRestDoesNotLand) {
  rc();
  in("RC RDMA Write First psn=5 va=0x12000 rkey=0x20 dmalen=2048 len=1024");
  EXPECT_TRUE(holds(0x12000, 5, 1024));
  attributes.access = kRemoteRead;
  qp().update(attributes);
  const std::vector<std::byte> before(at(0x12400), at(0x12800));
  in("RC RDMA Write Last psn=6 len=1024");
  EXPECT_TRUE(std::equal(before.begin(), before.end(), at(0x12400)));
  refused("psn=6 nak=invalid", ReasonId::nak_qp_access);
}

// C9-88
TEST_F(RcError, AZeroLengthWriteOrReadDoesNotCheckTheKey) {
  rc();
  in("RC RDMA Write Only psn=5 va=0 rkey=0x99 len=0 ackreq");
  out("RC Acknowledge psn=5 msn=1");
  in("RC RDMA Read Request psn=6 va=0 rkey=0x99 dmalen=0");
  out("RC RDMA Read Response Only psn=6 len=0 msn=2");
  quiet();
}

TEST_F(RcError, AMiddlePacketWithoutAFirst) {
  rc();
  in("RC Send Middle psn=5 len=1024");
  refused("psn=5 nak=invalid", ReasonId::nak_opcode_sequence);
}

TEST_F(RcError, AFirstInsideAMessage) {
  rc();
  post_receive(4000);
  in("RC Send First psn=5 len=1024");
  in("RC Send First psn=6 len=1024");
  received("100 flushed");
  event(QpEvent::request_error);
  refused("psn=6 nak=invalid", ReasonId::nak_opcode_sequence);
}

TEST_F(RcError, AWriteGoingOnAsASend) {
  rc();
  in("RC RDMA Write First psn=5 va=0x12000 rkey=0x20 dmalen=2000 len=1024");
  in("RC Send Last psn=6 len=976");
  refused("psn=6 nak=invalid", ReasonId::nak_opcode_sequence);
}

TEST_F(RcError, AReadInsideAMessage) {
  rc();
  in("RC RDMA Write First psn=5 va=0x12000 rkey=0x20 dmalen=2000 len=1024");
  in("RC RDMA Read Request psn=6 va=0x12000 rkey=0x20 dmalen=8");
  refused("psn=6 nak=invalid", ReasonId::nak_opcode_sequence);
}

// 9.7.4.1.6
TEST_F(RcError, AFirstPacketShorterThanTheMtu) {
  rc();
  post_receive(4000);
  in("RC Send First psn=5 len=512");
  refused("psn=5 nak=invalid", ReasonId::nak_length);
}

TEST_F(RcError, AnOnlyPacketLongerThanTheMtu) {
  rc();
  post_receive(4000);
  in("RC Send Only psn=5 len=1025");
  refused("psn=5 nak=invalid", ReasonId::nak_length);
}

TEST_F(RcError, ALastPacketWithoutPayload) {
  rc();
  post_receive(4000);
  in("RC Send First psn=5 len=1024");
  in("RC Send Last psn=6 len=0");
  refused("psn=6 nak=invalid", ReasonId::nak_length);
}

// IBTA 9.7.4
TEST_F(RcError, AWriteShorterThanItsReth) {
  rc();
  in("RC RDMA Write First psn=5 va=0x12000 rkey=0x20 dmalen=2000 len=1024");
  in("RC RDMA Write Last psn=6 len=900");
  refused("psn=6 nak=invalid", ReasonId::nak_message_length);
}

TEST_F(RcError, AWriteLongerThanItsReth) {
  rc();
  in("RC RDMA Write First psn=5 va=0x12000 rkey=0x20 dmalen=1500 len=1024");
  in("RC RDMA Write Middle psn=6 len=1024");
  refused("psn=6 nak=invalid", ReasonId::nak_message_length);
}

TEST_F(RcError, AReadOfMoreThanTwoGibibytes) {
  rc();
  in("RC RDMA Read Request psn=5 va=0x12000 rkey=0x20 dmalen=0x80000001");
  refused("psn=5 nak=invalid", ReasonId::nak_message_length);
}

TEST_F(RcError, AnAtomicThatIsNotAligned) {
  rc();
  in("RC Compare Swap psn=5 va=0x12004 rkey=0x20");
  refused("psn=5 nak=invalid", ReasonId::nak_atomic_alignment);
}

TEST_F(RcError, MoreReadsThanAgreed) {
  attributes.max_reads_in = 2;
  rc();
  for (int psn = 5; psn < 8; ++psn) {
    in("RC RDMA Read Request va=0x12000 rkey=0x20 dmalen=8 psn=" + std::to_string(psn));
  }
  out("RC RDMA Read Response Only psn=5");
  out("RC RDMA Read Response Only psn=6");
  refused("psn=7 nak=invalid msn=2", ReasonId::nak_read_resources);
}

TEST_F(RcError, NoReadsAgreedAtAll) {
  attributes.max_reads_in = 0;
  rc();
  in("RC Fetch Add psn=5 va=0x12000 rkey=0x20 add=1");
  refused("psn=5 nak=invalid", ReasonId::nak_read_resources);
}

TEST_F(RcError, AReceiveThatIsTooShort) {
  rc();
  post_receive(1500);
  in("RC Send First psn=5 len=1024");
  in("RC Send Last psn=6 len=1000 ackreq");
  received("100 local_length");
  EXPECT_TRUE(host.events.empty());
  refused("psn=6 nak=invalid msn=0", ReasonId::nak_receive_too_short);
}

TEST_F(RcError, AReceiveOutsideItsRegion) {
  rc();
  post_receive(64, kBase, 0x99);
  in("RC Send Only psn=5 len=8 ackreq");
  received("100 local_protection");
  refused("psn=5 nak=operational msn=0", ReasonId::lkey_unknown);
}

TEST_F(RcError, SendWithInvalidate) {
  rc();
  host.regions[0x66] = {};
  for (int i = 0; i < 2; ++i) post_receive(64);
  in("RC Send Only Invalidate psn=5 len=8 inv=0x66 ackreq");
  out("RC Acknowledge psn=5 msn=1");
  received("100 success len=8 inv=102");
  EXPECT_EQ(host.invalidated, std::vector<std::uint32_t>{0x66});
  in("RC Send Only Invalidate psn=6 len=8 inv=0x66 ackreq");
  received("101 remote_invalid_request");
  refused("psn=6 nak=access", ReasonId::invalidate_region);
}

TEST_F(RcError, ARegionThatGoesAwayWhileItIsRead) {
  rc();
  in("RC RDMA Read Request psn=5 va=0x12000 rkey=0x20 dmalen=3000");
  out("RC RDMA Read Response First psn=5");
  host.regions.erase(kKey);
  out("RC Acknowledge psn=6 nak=access");
  event(QpEvent::access_error);
  EXPECT_TRUE(qp().in_error());
  quiet();
}

TEST_F(RcError, ARegionThatGoesAwayWhileItIsWritten) {
  rc();
  in("RC RDMA Write First psn=5 va=0x12000 rkey=0x20 dmalen=2000 len=1024");
  host.regions.erase(kKey);
  in("RC RDMA Write Last psn=6 len=976 ackreq");
  refused("psn=6 nak=access", ReasonId::nak_rkey_unknown);
}

// 9.7.3.3: answers that were owed before the error still go out.
TEST_F(RcError, AnswersOwedGoOutAfterAFlush) {
  rc();
  post_receive(64);
  in("RC RDMA Read Request psn=5 va=0x12000 rkey=0x20 dmalen=2000");
  in("RC Send Only psn=7 len=8 ackreq");
  received("100 success len=8");
  post("send len=8");
  qp().flush();
  sent("1 flushed");
  out("RC RDMA Read Response First psn=5");
  out("RC RDMA Read Response Last psn=6");
  out("RC Acknowledge psn=7 msn=2");
  in("RC Send Only psn=8 len=8 ackreq");
  because_of(ReasonId::drop_qp_not_ready);
  quiet();
}

TEST_F(RcError, AFlushCompletesTheReceiveInUse) {
  rc();
  post_receive(4000);
  in("RC Send First psn=5 len=1024");
  qp().flush();
  received("100 flushed");
  quiet();
}

// ---- the requester's half

class RcNak : public RcError, public ::testing::WithParamInterface<std::array<const char*, 3>> {};

TEST_P(RcNak, EndsTheWorkRequestAndFlushesTheRest) {
  rc();
  for (int i = 0; i < 3; ++i) post("write len=8 va=0x7000 rkey=0x55");
  for (int psn = 5; psn < 8; ++psn) out("RC RDMA Write Only ackreq psn=" + std::to_string(psn));
  in(std::string("RC Acknowledge psn=6 msn=1 nak=") + GetParam()[0]);
  sent("1 success");
  sent(std::string("2 ") + GetParam()[1]);
  sent("3 flushed");
  EXPECT_TRUE(host.events.empty());
  EXPECT_TRUE(host.explained(ReasonId::got_nak_access) || host.explained(ReasonId::got_nak_invalid_request) ||
              host.explained(ReasonId::got_nak_operational));
  EXPECT_TRUE(qp().in_error());
  post("send len=8");
  silent();
  sent("4 flushed");
  quiet();
}

INSTANTIATE_TEST_SUITE_P(Syndromes, RcNak,
                         ::testing::Values(std::array{"invalid", "remote_invalid_request", ""},
                                           std::array{"access", "remote_access", ""},
                                           std::array{"operational", "remote_operation", ""}));

TEST_F(RcError, AnUndefinedSyndromeIsIgnored) {
  rc();
  post("send len=8");
  out("RC Send Only psn=5 ackreq");
  in("RC Acknowledge psn=5 syndrome=0x40");
  because_of(ReasonId::bad_response);
  in("RC Acknowledge psn=5 syndrome=0x65");
  EXPECT_TRUE(host.sends.empty());
  in("RC Acknowledge psn=5 msn=1");
  sent("1 success");
}

TEST_F(RcError, AReadResponseOfTheWrongLength) {
  rc();
  post("read len=1500 va=0x7000 rkey=0x55");
  out("RC RDMA Read Request psn=5 ackreq");
  in("RC RDMA Read Response First psn=5 len=512");
  sent("1 bad_response");
  because_of(ReasonId::bad_response);
}

TEST_F(RcError, AReadResponseToAWrite) {
  rc();
  post("write len=8 va=0x7000 rkey=0x55");
  out("RC RDMA Write Only psn=5 ackreq");
  in("RC RDMA Read Response Only psn=5 len=8");
  sent("1 bad_response");
}

TEST_F(RcError, ReadingIntoMemoryThatMayNotBeWritten) {
  rc();
  host.regions[kKey].access = 0;
  post("read len=8 va=0x7000 rkey=0x55");
  out("RC RDMA Read Request psn=5 ackreq");
  in("RC RDMA Read Response Only psn=5 len=8");
  sent("1 local_protection");
  because_of(ReasonId::lkey_unknown);
}

// Work requests complete in order: the one that cannot be sent waits for those before it.
TEST_F(RcError, ALocalErrorWaitsForEarlierWorkRequests) {
  rc();
  post("send len=8");
  post("send len=8 lkey=0x99");
  post("send len=8");
  out("RC Send Only psn=5 ackreq");
  quiet();
  in("RC Acknowledge psn=5 msn=1");
  silent();
  sent("1 success");
  sent("2 local_protection");
  sent("3 flushed");
}

TEST_F(RcError, ABindThatMayNotBe) {
  rc();
  host.windows_refuse = true;
  post("bind");
  silent();
  sent("1 window_bind");
  because_of(ReasonId::no_such_window);
}

TEST_F(RcError, AReadWithoutResources) {
  attributes.max_reads_out = 0;
  rc();
  post("read len=8");
  silent();
  sent("1 local_qp_operation");
  because_of(ReasonId::read_needs_resources);
}

}  // namespace
}  // namespace softrnic::ib::test
