// A host that looks at the beginning of a message before it gives a receive for it.
#include "tests/script/script.h"

namespace softrnic::ib::test {
namespace {

using Lookahead = Script;

TEST_F(Lookahead, TheHostSeesTheFirstBytesAndLeavesSomeOut) {
  rc();
  host.look_at(32);
  host.skip = 16;
  post_receive(2000, 0x12000);
  in("RC Send First psn=5 len=1024");
  in("RC Send Last psn=6 len=500 ackreq");
  received("100 success len=1524");
  ASSERT_EQ(host.looks.size(), 1U) << "once for a message";
  EXPECT_EQ(host.looks[0].size, 1024U);
  EXPECT_FALSE(host.looks[0].whole);
  EXPECT_EQ(host.looks[0].first.size(), 32U);
  EXPECT_TRUE(holds(0x12000 + 1008, 6, 500));
  out("RC Acknowledge psn=6 msn=1");
  quiet();
}

TEST_F(Lookahead, AShortMessageIsSeenAndMayBeLeftOutAltogether) {
  rc();
  host.look_at(32);
  host.skip = 64;
  post_receive(0, 0x12000);
  in("RC Send Only psn=5 len=20 ackreq");
  received("100 success len=20");
  EXPECT_TRUE(host.looks.at(0).whole);
  EXPECT_EQ(host.looks[0].first.size(), 20U);
  out("RC Acknowledge psn=5 msn=1");
  post_receive(0, 0x12000);
  in("RC Send Only psn=6 len=65 ackreq");
  received("101 local_length");
}

TEST_F(Lookahead, AWriteWithImmediateDataIsNotLookedAt) {
  rc();
  host.look_at(32);
  post_receive(0);
  in("RC RDMA Write Only Immediate psn=5 va=0x12000 rkey=0x20 dmalen=40 len=40 imm=3 ackreq");
  received("100 success len=40 imm=3 write");
  EXPECT_TRUE(host.looks.empty());
}

TEST_F(Lookahead, WithoutAReceiveItIsLookedAtAgain) {
  rc();
  host.look_at(32);
  in("RC Send Only psn=5 len=20 ackreq");
  EXPECT_EQ(host.looks.size(), 1U);
  post_receive(64);
  in("RC Send Only psn=5 len=20 ackreq");
  EXPECT_EQ(host.looks.size(), 2U);
  received("100 success len=20");
}

}  // namespace
}  // namespace softrnic::ib::test
