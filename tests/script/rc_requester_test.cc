// The RC requester, IBTA vol. 1, 9.7.3: what it sends, and what it does about the answers.
#include "tests/script/script.h"

namespace softrnic::ib::test {
namespace {

using RcRequester = Script;

TEST_F(RcRequester, SendsAShortMessageInOnePacketAndCompletesItWhenAcknowledged) {
  rc();
  post("send len=8");
  out("RC Send Only psn=5 len=8 qp=0x020022 pkey=0xffff ackreq");
  quiet();
  in("RC Acknowledge psn=5 msn=1");
  sent("1 success");
  quiet();
}

TEST_F(RcRequester, CutsALongMessageIntoPacketsOfTheMtu) {
  rc();
  post("send_imm len=2500 imm=7 se");
  out("RC Send First psn=5 len=1024");
  out("RC Send Middle psn=6 len=1024");
  out("RC Send Last Immediate psn=7 len=452 imm=7 se ackreq");
  in("RC Acknowledge psn=7 msn=1");
  sent("1 success");
  quiet();
}

TEST_F(RcRequester, PutsRethIntoTheFirstPacketOfAWrite) {
  rc();
  post("write len=2048 va=0x7000 rkey=0x55");
  out("RC RDMA Write First psn=5 va=0x7000 rkey=0x55 dmalen=2048 len=1024");
  out("RC RDMA Write Last psn=6 len=1024 ackreq");
  post("write_imm len=0 va=0 rkey=0 imm=9");
  out("RC RDMA Write Only Immediate psn=7 va=0 rkey=0 dmalen=0 len=0 imm=9 ackreq");
  in("RC Acknowledge psn=7 msn=2");
  sent("1 success");
  sent("2 success");
  quiet();
}

TEST_F(RcRequester, BindsWhenAllBeforeItIsDoneAndBeforeAnythingBehindItBegins) {
  rc();
  post("send len=8");
  post("bind unsignaled");
  post("bind");
  post("send len=9");
  out("RC Send Only psn=5 len=8 ackreq");
  quiet();
  EXPECT_TRUE(host.executed.empty());
  in("RC Acknowledge psn=5 msn=1");
  out("RC Send Only psn=6 len=9 ackreq");
  EXPECT_EQ(host.executed.size(), 2U);
  sent("1 success");
  sent("3 success");
  quiet();
  in("RC Acknowledge psn=6 msn=2");
  sent("4 success");
  quiet();
  EXPECT_EQ(host.executed.size(), 2U);
}

TEST_F(RcRequester, ReadsIntoItsMemory) {
  rc();
  post("read len=2500 at=0x20000 va=0x7000 rkey=0x55");
  post("send len=1");
  out("RC RDMA Read Request psn=5 va=0x7000 rkey=0x55 dmalen=2500 len=0 ackreq");
  out("RC Send Only psn=8 len=1 ackreq");
  in("RC RDMA Read Response First psn=5 len=1024 msn=1");
  in("RC RDMA Read Response Middle psn=6 len=1024");
  EXPECT_TRUE(host.sends.empty());
  in("RC RDMA Read Response Last psn=7 len=452 msn=1");
  sent("1 success");
  EXPECT_TRUE(holds(0x20000, 5, 1024));
  EXPECT_TRUE(holds(0x20400, 6, 1024));
  EXPECT_TRUE(holds(0x20800, 7, 452));
  in("RC Acknowledge psn=8 msn=2");
  sent("2 success");
  quiet();
}

TEST_F(RcRequester, PutsTheOriginalValueOfAnAtomicIntoItsMemory) {
  rc();
  post("faa at=0x20000 va=0x7000 rkey=0x55 add=3");
  post("cas at=0x20008 va=0x7008 rkey=0x55 cmp=1 swap=2");
  out("RC Fetch Add psn=5 va=0x7000 rkey=0x55 add=3 ackreq");
  out("RC Compare Swap psn=6 va=0x7008 rkey=0x55 cmp=1 swap=2 ackreq");
  in("RC Atomic Acknowledge psn=5 msn=1 orig=0x1122334455667788");
  in("RC Atomic Acknowledge psn=6 msn=2 orig=42");
  sent("1 success");
  sent("2 success");
  std::uint64_t original[2];
  std::memcpy(original, at(0x20000), sizeof original);
  EXPECT_EQ(original[0], 0x1122334455667788U);
  EXPECT_EQ(original[1], 42U);
  quiet();
}

}  // namespace
}  // namespace softrnic::ib::test
