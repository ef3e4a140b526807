#include "fabric/management_datagram.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "fabric/packet.h"

namespace softrnic::fabric {
namespace {

Datagram sample(bool global) {
  Datagram datagram;
  datagram.slid = wire::Lid(3);
  datagram.dlid = wire::Lid(9);
  datagram.sl = 5;
  datagram.p_key = 0x8001;
  datagram.source = Qpn(0x123456);
  datagram.destination = kGsiQpn;
  datagram.q_key = kGsiQkey;
  for (std::size_t i = 0; i < datagram.mad.size(); ++i) datagram.mad[i] = static_cast<std::byte>(i);
  if (global) {
    datagram.grh.emplace();
    datagram.grh->sgid.raw[15] = std::byte{1};
    datagram.grh->dgid.raw[15] = std::byte{2};
  }
  return datagram;
}
std::vector<std::byte> bytes_of(const DatagramPacket& packet) {
  return {packet.bytes().begin(), packet.bytes().end()};
}

TEST(Datagrams, AreReadAsTheyWereWritten) {
  for (const bool global : {false, true}) {
    const Datagram datagram = sample(global);
    const auto bytes = bytes_of(DatagramPacket(datagram, 7));
    EXPECT_EQ(bytes.size(), kMaxDatagramBytes - (global ? 0 : wire::kGrhBytes));
    EXPECT_TRUE(read_packet(bytes).has_value()) << "the engine takes it";
    const auto read = read_datagram(bytes);
    ASSERT_TRUE(read.has_value());
    EXPECT_EQ(read->slid, datagram.slid);
    EXPECT_EQ(read->dlid, datagram.dlid);
    EXPECT_EQ(read->sl, 5);
    EXPECT_EQ(read->vl, 0);
    EXPECT_EQ(read->p_key, 0x8001);
    EXPECT_EQ(read->source, Qpn(0x123456));
    EXPECT_EQ(read->destination, kGsiQpn);
    EXPECT_EQ(read->q_key, kGsiQkey);
    EXPECT_EQ(read->mad, datagram.mad);
    ASSERT_EQ(read->grh.has_value(), global);
    EXPECT_TRUE(!global || read->grh->dgid == datagram.grh->dgid);
  }
}

TEST(Datagrams, ToQp0GoByTheManagementVl) {
  Datagram datagram = sample(false);
  datagram.destination = kSmiQpn;
  const DatagramPacket packet(datagram, 0);
  EXPECT_TRUE(packet.is_management());
  EXPECT_EQ(read_datagram(packet.bytes())->vl, wire::kManagementVl);
}

TEST(Datagrams, GoBackTheWayTheyCame) {
  const Datagram answer = answer_to(sample(true), wire::Lid(8));
  EXPECT_EQ(answer.slid, wire::Lid(9)) << "by the LID, of several, that was asked";
  EXPECT_EQ(answer.dlid, wire::Lid(3));
  EXPECT_EQ(answer.sl, 5);
  EXPECT_EQ(answer.p_key, 0x8001);
  EXPECT_EQ(answer.source, kGsiQpn);
  EXPECT_EQ(answer.destination, Qpn(0x123456));
  EXPECT_EQ(answer.q_key, kGsiQkey);
  EXPECT_EQ(answer.grh->dgid, sample(true).grh->sgid);
}

TEST(Datagrams, OthersAreRefused) {
  const auto good = bytes_of(DatagramPacket(sample(false), 0));
  EXPECT_EQ(read_datagram({}).error(), DatagramError::bad_frame);
  EXPECT_EQ(read_datagram(std::vector<std::byte>(4096)).error(), DatagramError::bad_frame);
  auto bytes = good;
  bytes[100] ^= std::byte{1};
  EXPECT_EQ(read_datagram(bytes).error(), DatagramError::bad_icrc);
  bytes = good;
  bytes[8] = std::byte{0x65};  // with immediate data
  EXPECT_EQ(read_datagram(bytes).error(), DatagramError::not_send_only);
  bytes = good;
  bytes[9] |= std::byte{0x10};  // one byte of pad
  EXPECT_EQ(read_datagram(bytes).error(), DatagramError::not_a_mad);
}

TEST(Datagrams, AnyBytesAreSafe) {
  std::mt19937 random(2);
  const auto good = bytes_of(DatagramPacket(sample(true), 0));
  for (int i = 0; i < 20'000; ++i) {
    auto bytes = good;
    for (int changes = 0; changes < 3; ++changes) {
      bytes[random() % 40] = static_cast<std::byte>(random());
    }
    bytes.resize(random() % 3 == 0 ? random() % 400 : bytes.size());
    static_cast<void>(read_datagram(bytes).has_value());
  }
}

}  // namespace
}  // namespace softrnic::fabric
