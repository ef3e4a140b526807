// Payloads that stayed with their sender: they are fetched, once, or the packet counts as lost.
#include "base/reason_id.h"
#include "tests/script/memory_path.h"

namespace softrnic::ib::test {
namespace {

using std::chrono::seconds;

using PayloadElsewhere = MemoryPath;

TEST_F(PayloadElsewhere, APayloadIsFetchedFromWhereItIs) {
  rc();
  host.post_receive(100, {{kBase, 1000, MemoryKey(kKey)}, {kBase + 0x8000, 4000, MemoryKey(kKey)}});
  in("RC Send Only psn=5 len=4096 packets=4 ackreq elsewhere");
  received("100 success len=4096");
  EXPECT_TRUE(holds(kBase, 5, 1000));
  for (std::size_t i = 0; i < 3096; ++i) ASSERT_EQ(at(kBase + 0x8000)[i], payload_byte(5, 1000 + i));
  EXPECT_EQ(counted(Counter::rx_bytes), 4096U);
  in("RC RDMA Write Only psn=9 va=0x12000 rkey=0x20 len=4096 packets=4 elsewhere");
  EXPECT_TRUE(holds(0x12000, 9, 4096));
  out("RC Acknowledge psn=12 msn=2");
}

TEST_F(PayloadElsewhere, APayloadThatIsGoneIsAskedForAgain) {
  rc();
  host.post_receive(100, {{kBase, 1000, MemoryKey(kKey)}, {kBase + 0x8000, 4000, MemoryKey(kKey)}});
  post_receive(4096);
  fetches = 1;  // the first piece only
  in("RC Send Only psn=5 len=4096 packets=4 ackreq elsewhere");
  EXPECT_EQ(counted(Counter::drop_payload), 1U);
  EXPECT_EQ(qp().receive_psn(), 5U);
  EXPECT_FALSE(qp().in_error());
  EXPECT_TRUE(host.recvs.empty());
  because_of(ReasonId::payload_gone);
  out("RC Acknowledge psn=5 nak=sequence msn=0");
  in("RC Send Only psn=9 len=8");  // was under way; one NAK is enough
  quiet();
  in("RC Send Only psn=5 len=4096 packets=4 ackreq");
  received("100 success len=4096");
  EXPECT_TRUE(holds(kBase, 5, 1000));
  for (std::size_t i = 0; i < 3096; ++i) ASSERT_EQ(at(kBase + 0x8000)[i], payload_byte(5, 1000 + i));
  out("RC Acknowledge psn=8 msn=1");
  quiet();
}

TEST_F(PayloadElsewhere, AWriteWhosePayloadIsGoneComesAgainAtItsPlace) {
  rc();
  in("RC RDMA Write First psn=5 va=0x12000 rkey=0x20 dmalen=8192 len=4096 packets=4 elsewhere");
  fetches = 0;
  in("RC RDMA Write Last psn=9 len=4096 packets=4 ackreq elsewhere");
  EXPECT_EQ(counted(Counter::drop_payload), 1U);
  out("RC Acknowledge psn=9 nak=sequence msn=0");
  fetches = 1;
  in("RC RDMA Write Last psn=9 len=4096 packets=4 ackreq elsewhere");
  EXPECT_TRUE(holds(0x12000, 5, 4096));
  EXPECT_TRUE(holds(0x13000, 9, 4096));
  out("RC Acknowledge psn=12 msn=1");
  quiet();
}

TEST_F(PayloadElsewhere, AResponseWhosePayloadIsGoneIsAskedForAgain) {
  rc();
  post("read len=4096 va=0x7000 rkey=0x55");
  out("RC RDMA Read Request psn=5 ackreq");
  fetches = 0;
  in("RC RDMA Read Response Only psn=5 len=4096 packets=4 msn=1 elsewhere");
  EXPECT_EQ(counted(Counter::drop_payload), 1U);
  EXPECT_TRUE(host.sends.empty());
  because_of(ReasonId::payload_gone);
  out("RC RDMA Read Request psn=5 ackreq");
  fetches = 1;
  in("RC RDMA Read Response Only psn=5 len=4096 packets=4 msn=1 elsewhere");
  sent("1 success");
  EXPECT_TRUE(holds(kBase, 5, 4096));
  quiet();
}

TEST_F(PayloadElsewhere, ADuplicateIsNotFetched) {
  rc();
  post_receive(4096);
  in("RC Send Only psn=5 len=4096 packets=4 elsewhere");
  const unsigned before = fetched;
  in("RC Send Only psn=5 len=4096 packets=4 elsewhere");
  EXPECT_EQ(fetched, before);
}

TEST_F(PayloadElsewhere, UcLosesTheMessageWhosePayloadIsGone) {
  uc();
  post_receive(20'000);
  in("UC Send First psn=5 len=4096 packets=4 elsewhere");
  fetches = 0;
  in("UC Send Middle psn=9 len=4096 packets=4 elsewhere");
  EXPECT_EQ(counted(Counter::drop_payload), 1U);
  because_of(ReasonId::payload_gone);
  in("UC Send Last psn=13 len=8");
  EXPECT_TRUE(host.recvs.empty());
  EXPECT_FALSE(qp().in_error());
  in("UC Send Only psn=14 len=8");
  received("100 success len=8");
  quiet();
}

}  // namespace
}  // namespace softrnic::ib::test
