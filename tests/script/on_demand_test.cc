// Memory with on-demand paging: the kernel copies for the adapter, and may find nothing there.
#include "base/reason_id.h"
#include "tests/script/script.h"

namespace softrnic::ib::test {
namespace {

class OnDemand : public Script {
 protected:
  OnDemand() { host.regions[kKey].on_demand = true; }
  void pages_go() { host.pages_gone = true; }
};

TEST_F(OnDemand, WhatIsSentIsCopiedFirst) {
  rc();
  post("send len=1500 sges=3");
  out("RC Send First psn=5 len=1024");
  for (std::size_t i = 0; i < packet.fragment_count; ++i) EXPECT_EQ(packet.fragments[i].key.value, 0U) << i;
  EXPECT_GE(packet.fragments[0].data, host.bounce.data());
  EXPECT_LT(packet.fragments[0].data, host.bounce.data() + host.bounce.size());
  out("RC Send Last psn=6 len=476 ackreq");
  in("RC Acknowledge psn=6 msn=1");
  sent("1 success");
  quiet();
}

TEST_F(OnDemand, WhatComesIsStored) {
  rc();
  post_receive(2000, 0x12000);
  in("RC Send First psn=5 len=1024");
  in("RC Send Last psn=6 len=100 ackreq");
  received("100 success len=1124");
  EXPECT_TRUE(holds(0x12000, 5, 1024));
  EXPECT_TRUE(holds(0x12000 + 1024, 6, 100));
  in("RC RDMA Write Only psn=7 va=0x14000 rkey=0x20 len=64 ackreq");
  EXPECT_TRUE(holds(0x14000, 7, 64));
  out("RC Acknowledge psn=7 msn=2");
  quiet();
}

TEST_F(OnDemand, ReadsAndAtomics) {
  rc();
  in("RC RDMA Read Request psn=5 va=0x12000 rkey=0x20 dmalen=1100");
  out("RC RDMA Read Response First psn=5 len=1024");
  EXPECT_EQ(packet.fragments[0].key.value, 0U);
  out("RC RDMA Read Response Last psn=6 len=76");
  *reinterpret_cast<std::uint64_t*>(at(0x13000)) = 5;
  in("RC Fetch Add psn=7 va=0x13000 rkey=0x20 add=3");
  out("RC Atomic Acknowledge psn=7");
  EXPECT_EQ(*reinterpret_cast<std::uint64_t*>(at(0x13000)), 8U);
  quiet();
}

TEST_F(OnDemand, NothingToSend) {
  rc();
  post("send len=8");
  pages_go();
  silent();
  sent("1 local_protection");
  because_of(ReasonId::page_missing);
}

TEST_F(OnDemand, NothingToWriteTo) {
  rc();
  pages_go();
  in("RC RDMA Write Only psn=5 va=0x12000 rkey=0x20 len=8 ackreq");
  event(QpEvent::access_error);
  because_of(ReasonId::page_missing);
  out("RC Acknowledge psn=5 nak=access msn=0");
  silent();
}

TEST_F(OnDemand, NothingToReceiveInto) {
  rc();
  post_receive(64);
  pages_go();
  in("RC Send Only psn=5 len=8 ackreq");
  received("100 local_protection");
  because_of(ReasonId::page_missing);
  out("RC Acknowledge psn=5 nak=operational msn=0");
  silent();
}

TEST_F(OnDemand, NothingToRead) {
  rc();
  in("RC RDMA Read Request psn=5 va=0x12000 rkey=0x20 dmalen=8");
  pages_go();
  out("RC Acknowledge psn=5 nak=access");
  because_of(ReasonId::page_missing);
}

TEST_F(OnDemand, NoWordToAddTo) {
  rc();
  pages_go();
  in("RC Fetch Add psn=5 va=0x13000 rkey=0x20 add=3");
  because_of(ReasonId::page_missing);
  out("RC Acknowledge psn=5 nak=access msn=0");
  silent();
}

TEST_F(OnDemand, NowhereToPutWhatWasRead) {
  rc();
  post("read len=8 at=0x12000 va=0x9000 rkey=0x77");
  out("RC RDMA Read Request psn=5 dmalen=8 ackreq");
  pages_go();
  in("RC RDMA Read Response Only psn=5 msn=1 len=8");
  sent("1 local_protection");
  because_of(ReasonId::page_missing);
}

TEST_F(OnDemand, FromAPayloadThatIsElsewhere) {
  rc();
  post_receive(2000, 0x12000);
  fetches = 1;
  in("RC Send Only psn=5 len=600 elsewhere ackreq");
  EXPECT_EQ(fetched, 1U);
  received("100 success len=600");
  EXPECT_TRUE(holds(0x12000, 5, 600));
}

}  // namespace
}  // namespace softrnic::ib::test
