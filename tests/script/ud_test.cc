// Unreliable datagrams, IBTA vol. 1, 9.8.4, and annex A17 for the header that precedes them.
#include <algorithm>

#include "base/reason_id.h"
#include "tests/script/script.h"
#include "transport/ib/datagram_header.h"
#include "transport/ib/rx_packet.h"
#include "transport/ib/ud_endpoint.h"

namespace softrnic::ib::test {
namespace {

using Ud = Script;

TEST_F(Ud, SendsToTheAddressOfTheWorkRequest) {
  ud();
  post("send len=100 qkey=0x77");
  post("send_imm len=0 qkey=0x77 imm=5 se");
  out("UD Send Only psn=5 qp=0x020022 qkey=0x77 src=0x010011 len=100");
  sent("1 success");
  EXPECT_EQ(packet.path->destination, attributes.path.destination);
  out("UD Send Only Immediate psn=6 imm=5 len=0 se");
  sent("2 success");
  quiet();
}

TEST_F(Ud, ReceivesWithTheHeaderInFront) {
  ud();
  post_receive(140, 0x12000);
  in("UD Send Only Immediate psn=99 qkey=0x1234 src=0x33 len=100 imm=6");
  ASSERT_EQ(host.recvs.size(), 1U);
  EXPECT_TRUE(host.recvs[0].has_grh);
  EXPECT_EQ(host.recvs[0].source.value, 0x33U);
  received("100 success len=140 imm=6");
  EXPECT_TRUE(holds(0x12000 + 40, 99, 100));
  EXPECT_EQ(*at(0x12000 + 20), std::byte{0x45});
  quiet();
}

// IBTA 11.4.2.1: without a GRH the first 40 bytes have no content.
TEST_F(Ud, ReceivesADatagramByLidBehindFortyBytes) {
  ud();
  post_receive(140, 0x12000);
  std::fill_n(at(0x12000), 40, std::byte{0x5a});
  in_from(wire::Gid::of_lid(wire::Lid(7)), "UD Send Only psn=99 qkey=0x1234 src=0x33 len=100");
  ASSERT_EQ(host.recvs.size(), 1U);
  EXPECT_FALSE(host.recvs[0].has_grh);
  received("100 success len=140");
  EXPECT_TRUE(holds(0x12000 + 40, 99, 100));
  EXPECT_EQ(std::count(at(0x12000), at(0x12000) + 40, std::byte{0x5a}), 40);
  quiet();
}

TEST_F(Ud, DropsADatagramWithAnotherQkey) {
  ud();
  post_receive(140);
  in("UD Send Only psn=1 qkey=0x4321 src=0x33 len=8");
  because_of(ReasonId::drop_qkey_mismatch);
  EXPECT_EQ(counted(Counter::drop_qkey), 1U);
  quiet();
}

TEST_F(Ud, TellsWhichDatagramsLackAReceive) {
  ud();
  EXPECT_TRUE(lacks_receive("UD Send Only psn=1 qkey=0x1234 src=0x33 len=8"));
  EXPECT_FALSE(lacks_receive("UD Send Only psn=1 qkey=0x4321 src=0x33 len=8"));
  post_receive(48);
  EXPECT_FALSE(lacks_receive("UD Send Only psn=1 qkey=0x1234 src=0x33 len=8"));
  in("UD Send Only psn=1 qkey=0x1234 src=0x33 len=8");
  received("100 success len=48");
  EXPECT_TRUE(lacks_receive("UD Send Only psn=2 qkey=0x1234 src=0x33 len=8"));
  quiet();
}

TEST_F(Ud, DropsADatagramWithoutAReceiveOrThatDoesNotFit) {
  ud();
  in("UD Send Only psn=1 qkey=0x1234 src=0x33 len=8");
  because_of(ReasonId::drop_ud_no_receive);
  post_receive(47);
  in("UD Send Only psn=2 qkey=0x1234 src=0x33 len=8");
  because_of(ReasonId::drop_ud_too_long);
  in("UD Send Only psn=3 qkey=0x1234 src=0x33 len=7");
  received("100 success len=47");
  quiet();
}

// 10.3.1.6: the send queue error state leaves the receive queue alone.
TEST_F(Ud, AFailedSendStopsTheSendQueueOnly) {
  ud();
  post("send len=8 lkey=0x99");
  post("send len=8");
  silent();
  sent("1 local_protection");
  sent("2 flushed");
  EXPECT_TRUE(qp().in_error());
  because_of(ReasonId::lkey_unknown);
  post("send len=8");
  silent();
  sent("3 flushed");
  post_receive(100);
  in("UD Send Only psn=3 qkey=0x1234 src=0x33 len=8");
  received("100 success len=48");
  qp().resume();
  EXPECT_FALSE(qp().in_error());
  post("send len=8");
  out("UD Send Only psn=5 len=8");
  sent("4 success");
  quiet();
}

TEST_F(Ud, ADatagramLongerThanTheMtuFails) {
  ud();
  post("send len=1025");
  silent();
  sent("1 local_length");
  because_of(ReasonId::local_length);
  quiet();
}

TEST_F(Ud, AReceiveOutsideItsRegionEndsTheQp) {
  ud();
  post_receive(100, kBase, 0x99);
  in("UD Send Only psn=3 qkey=0x1234 src=0x33 len=8");
  received("100 local_protection");
  EXPECT_TRUE(qp().in_error());
  quiet();
}

TEST_F(Ud, FlushesTheReceiveItHolds) {
  ud();
  post_receive(41);
  in("UD Send Only psn=3 qkey=0x1234 src=0x33 len=8");
  qp().flush();
  received("100 flushed");
  quiet();
}

TEST(DatagramHeader, IsAnIpv4HeaderBehindTwentyZeros) {
  RxPacket rx;
  rx.packet.info = &wire::opcode_info(wire::Opcode::ud_send_only);
  std::vector<std::byte> payload(5);
  rx.packet.payload = payload;
  rx.source = wire::Gid::from_ipv4_be(0x0100000a);
  rx.destination = wire::Gid::from_ipv4_be(0x0200000a);
  rx.traffic_class = 0x20;
  rx.hop_limit = 63;
  const auto grh = datagram_header(rx);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(grh[i], std::byte{0});
  const std::uint8_t expected[] = {0x45, 0x20, 0, 60, 0, 0, 0x40, 0, 63, 17};
  for (int i = 0; i < 10; ++i) EXPECT_EQ(grh[20 + i], std::byte{expected[i]}) << i;
  std::uint32_t sum = 0;
  for (int i = 0; i < 20; i += 2) sum += load_be16(&grh[20 + i]);
  EXPECT_EQ((sum & 0xffff) + (sum >> 16), 0xffffU);
  EXPECT_EQ(load_be32(&grh[32]), 0x0a000001U);
  EXPECT_EQ(load_be32(&grh[36]), 0x0a000002U);
  EXPECT_EQ(network_header_code(rx), 0xa);
}

TEST(DatagramHeader, IsTheIpv6Header) {
  RxPacket rx;
  rx.packet.info = &wire::opcode_info(wire::Opcode::ud_send_only_imm);
  rx.source.raw[0] = rx.destination.raw[0] = std::byte{0xfd};
  rx.source.raw[15] = std::byte{1};
  rx.destination.raw[15] = std::byte{2};
  rx.traffic_class = 0x12;
  rx.flow_label = 0x34567;
  const auto grh = datagram_header(rx);
  EXPECT_EQ(load_be32(&grh[0]), 0x61234567U);
  EXPECT_EQ(network_header_code(rx), 0x9);
  EXPECT_EQ(load_be16(&grh[4]), 8 + 12 + 8 + 4 + 4);
  EXPECT_EQ(grh[6], std::byte{17});
  EXPECT_EQ(grh[23], std::byte{1});
  EXPECT_EQ(grh[39], std::byte{2});
}

TEST(DatagramHeader, OfInfinibandIsTheGrh) {
  RxPacket rx;
  rx.packet.info = &wire::opcode_info(wire::Opcode::ud_send_only);
  std::vector<std::byte> payload(5);
  rx.packet.payload = payload;
  rx.slid = wire::Lid(3);
  rx.source.raw[0] = std::byte{0xfe};
  rx.destination.raw[0] = std::byte{0xff};
  rx.traffic_class = 0x12;
  rx.flow_label = 0x34567;
  rx.hop_limit = 9;
  const auto grh = datagram_header(rx);
  EXPECT_EQ(load_be32(&grh[0]), 0x61234567U);
  EXPECT_EQ(load_be16(&grh[4]), 12 + 8 + 5 + 3 + 4);
  EXPECT_EQ(grh[6], std::byte{0x1b});
  EXPECT_EQ(grh[7], std::byte{9});
  EXPECT_EQ(grh[8], std::byte{0xfe});
  EXPECT_EQ(grh[24], std::byte{0xff});
}

}  // namespace
}  // namespace softrnic::ib::test
