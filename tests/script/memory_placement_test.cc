// Memory placement extensions of RC: ATOMIC WRITE and FLUSH (IBTA A19).
#include "base/reason_id.h"
#include "tests/script/script.h"
#include "transport/ib/flush_selector.h"

namespace softrnic::ib::test {
namespace {

using std::chrono::milliseconds;

/// placement and selectivity level of a FETH
constexpr const char* kGlobalRange = "feth=0x1";

struct MemoryPlacement : Script {
  MemoryPlacement() {
    attributes.access |= kFlushGlobal;
    host.regions[kKey].access |= kFlushGlobal;
  }
  std::uint64_t word_at(std::uint64_t address) {
    std::uint64_t word = 0;
    std::memcpy(&word, at(address), sizeof word);
    return word;
  }
  void put_word(std::uint64_t address, std::uint64_t word) { std::memcpy(at(address), &word, sizeof word); }
  void flush(const std::string& rest) { in("RC Flush psn=5 va=0x12000 rkey=0x20 dmalen=64 len=0 " + rest); }
};

// ---- the responder

TEST_F(MemoryPlacement, AnAtomicWriteIsAnsweredByAnEmptyReadResponse) {
  rc();
  in("RC Atomic Write psn=5 va=0x12000 rkey=0x20 dmalen=8 len=8");
  out("RC RDMA Read Response Only psn=5 len=0 msn=1");
  EXPECT_TRUE(holds(0x12000, 5, 8));
  quiet();
}

TEST_F(MemoryPlacement, AnAtomicWriteThatComesAgainIsAnsweredAndNotExecuted) {
  rc();
  in("RC Atomic Write psn=5 va=0x12000 rkey=0x20 dmalen=8 len=8");
  out("RC RDMA Read Response Only psn=5 len=0 msn=1");
  put_word(0x12000, 77);
  in("RC Atomic Write psn=5 va=0x12000 rkey=0x20 dmalen=8 len=8");
  out("RC RDMA Read Response Only psn=5 len=0 msn=1");
  EXPECT_EQ(word_at(0x12000), 77U);
  quiet();
}

TEST_F(MemoryPlacement, ADuplicateOfAnotherKindIsDropped) {
  rc();
  in("RC Atomic Write psn=5 va=0x12000 rkey=0x20 dmalen=8 len=8");
  out("RC RDMA Read Response Only psn=5 len=0 msn=1");
  in("RC RDMA Read Request psn=5 va=0x12000 rkey=0x20 dmalen=0");
  in("RC Fetch Add psn=5 va=0x12000 rkey=0x20 add=2");
  quiet();
}

TEST_F(MemoryPlacement, AnAtomicWriteTakesTheAccessOfAWrite) {
  attributes.access = kLocalWrite | kRemoteRead | kRemoteAtomic;
  rc();
  in("RC Atomic Write psn=5 va=0x12000 rkey=0x20 dmalen=8 len=8");
  because_of(ReasonId::nak_qp_access);
  out("RC Acknowledge psn=5 nak=invalid msn=0");
}

TEST_F(MemoryPlacement, AnAtomicWriteIsEightAlignedBytes) {
  struct Case {
    const char* packet;
    ReasonId reason;
  };
  for (const Case& c : {Case{"va=0x12004 dmalen=8 len=8", ReasonId::nak_atomic_alignment},
                        Case{"va=0x12000 dmalen=16 len=8", ReasonId::nak_message_length},
                        Case{"va=0x12000 dmalen=4 len=4", ReasonId::nak_length}}) {
    host.reasons.clear();
    const std::uint64_t before = word_at(0x12000);
    rc();
    in(std::string("RC Atomic Write psn=5 rkey=0x20 ") + c.packet);
    because_of(c.reason);
    out("RC Acknowledge psn=5 nak=invalid msn=0");
    event(QpEvent::request_error);
    EXPECT_EQ(word_at(0x12000), before);
  }
}

TEST_F(MemoryPlacement, AnAtomicWriteToAWordThatSomebodyHoldsIsAskedForAgain) {
  rc();
  host.words_taken = true;
  in("RC Atomic Write psn=5 va=0x12000 rkey=0x20 dmalen=8 len=8");
  because_of(ReasonId::nak_atomic_busy);
  host.words_taken = false;
  pass(milliseconds(4));
  out("RC Acknowledge psn=5 msn=0 nak=sequence");
  in("RC Atomic Write psn=5 va=0x12000 rkey=0x20 dmalen=8 len=8");
  out("RC RDMA Read Response Only psn=5 len=0 msn=1");
  EXPECT_TRUE(holds(0x12000, 5, 8));
}

TEST_F(MemoryPlacement, AFlushIsAnsweredByAnEmptyReadResponse) {
  rc();
  flush(kGlobalRange);
  out("RC RDMA Read Response Only psn=5 len=0 msn=1");
  flush(kGlobalRange);  // once more: the answer may have been lost
  out("RC RDMA Read Response Only psn=5 len=0 msn=1");
  quiet();
}

TEST_F(MemoryPlacement, AFlushOfARegionLooksAtNoRange) {
  rc();
  in("RC Flush psn=5 va=0 rkey=0x20 dmalen=0xffffffff len=0 feth=0x11");
  out("RC RDMA Read Response Only psn=5 len=0 msn=1");
  in("RC Flush psn=6 va=0 rkey=0x21 dmalen=0 len=0 feth=0x11");
  because_of(ReasonId::nak_rkey_access);
  out("RC Acknowledge psn=6 nak=access msn=1");
}

TEST_F(MemoryPlacement, AFlushBeyondItsRegionIsAnAccessError) {
  rc();
  in("RC Flush psn=5 va=0x12000 rkey=0x20 dmalen=0x7fffffff len=0 feth=0x1");
  because_of(ReasonId::nak_rkey_range);
  out("RC Acknowledge psn=5 nak=access msn=0");
  event(QpEvent::access_error);
}

TEST_F(MemoryPlacement, AFlushThatTheSpecificationDoesNotHaveIsInvalid) {
  for (const char* feth : {"feth=0", "feth=0x4", "feth=0x21", "feth=0x31"}) {
    host.reasons.clear();
    rc();
    flush(feth);
    because_of(ReasonId::nak_flush_selector);
    out("RC Acknowledge psn=5 nak=invalid msn=0");
    event(QpEvent::request_error);
  }
}

TEST_F(MemoryPlacement, AFlushToPersistenceNeedsAnAccessThatNothingHas) {
  rc();
  flush("feth=0x3");
  because_of(ReasonId::nak_qp_access);
  out("RC Acknowledge psn=5 nak=invalid msn=0");
}

// ---- the requester

TEST_F(MemoryPlacement, ARequesterWaitsForTheEmptyResponses) {
  rc();
  post("atomic_write at=0x10000 va=0x7000 rkey=0x55");
  post("flush inline va=0x7000 rkey=0x55 dmalen=4096 feth=0x1");
  out("RC Atomic Write psn=5 va=0x7000 rkey=0x55 dmalen=8 len=8 ackreq");
  out("RC Flush psn=6 va=0x7000 rkey=0x55 dmalen=4096 len=0 feth=0x1 ackreq");
  in("RC RDMA Read Response Only psn=5 len=0 msn=1");
  sent("1 success");
  in("RC RDMA Read Response Only psn=6 len=0 msn=2");
  sent("2 success");
  quiet();
}

TEST_F(MemoryPlacement, AnAckStandsForNoFlush) {
  rc();
  post("flush inline va=0x7000 rkey=0x55 dmalen=64 feth=0x1");
  post("write len=8 va=0x7000 rkey=0x55");
  out("RC Flush psn=5 va=0x7000 rkey=0x55 dmalen=64 len=0 feth=0x1 ackreq");
  out("RC RDMA Write Only psn=6 va=0x7000 rkey=0x55 dmalen=8 len=8 ackreq");
  in("RC Acknowledge psn=6 msn=2");  // the response was lost: implied NAK
  EXPECT_TRUE(host.sends.empty());
  out("RC Flush psn=5 va=0x7000 rkey=0x55 dmalen=64 len=0 feth=0x1 ackreq");
}

TEST_F(MemoryPlacement, AResponseWithDataIsNone) {
  rc();
  post("atomic_write at=0x10000 va=0x7000 rkey=0x55");
  out("RC Atomic Write psn=5 va=0x7000 rkey=0x55 dmalen=8 len=8 ackreq");
  in("RC RDMA Read Response Only psn=5 len=8 msn=1");
  sent("1 bad_response");
}

TEST_F(MemoryPlacement, AnAtomicAcknowledgeIsNone) {
  rc();
  post("flush inline va=0x7000 rkey=0x55 dmalen=64 feth=0x1");
  out("RC Flush psn=5 va=0x7000 rkey=0x55 dmalen=64 len=0 feth=0x1 ackreq");
  in("RC Atomic Acknowledge psn=5 msn=1 orig=3");
  sent("1 bad_response");
}

TEST_F(MemoryPlacement, TheyTakeTheResourcesOfReads) {
  attributes.max_reads_out = 1;
  rc();
  post("atomic_write at=0x10000 va=0x7000 rkey=0x55");
  post("flush inline va=0x7000 rkey=0x55 dmalen=64 feth=0x1");
  out("RC Atomic Write psn=5 va=0x7000 rkey=0x55 dmalen=8 len=8 ackreq");
  silent();
  in("RC RDMA Read Response Only psn=5 len=0 msn=1");
  sent("1 success");
  out("RC Flush psn=6 va=0x7000 rkey=0x55 dmalen=64 len=0 feth=0x1 ackreq");
}

TEST_F(MemoryPlacement, XrcHasNoOpcodesForThem) {
  xrc_initiator();
  post("flush inline va=0x7000 rkey=0x55 dmalen=64 feth=0x1 srqn=1");
  silent();
  sent("1 local_qp_operation");
  because_of(ReasonId::bad_send_opcode);
}

TEST(FlushSelector, HasPlacementInItsLowestBitsAndTheLevelAboveThem) {
  constexpr FlushSelector kSelector{FlushSelector::kGlobal | FlushSelector::kPersistent,
                                    FlushSelector::kRegion};
  static_assert(kSelector.feth() == 0x13 && kSelector.valid());
  static_assert(kSelector.access() == (kFlushGlobal | kFlushPersistent));
  EXPECT_EQ(FlushSelector::of(0x13).level, FlushSelector::kRegion);
  EXPECT_EQ(FlushSelector::of(0xffffffcf).level, 0) << "bits above are reserved";
}

}  // namespace
}  // namespace softrnic::ib::test
