// Management datagrams between library and daemon: what goes in comes out, and nothing else is taken.
#include "control/mad_messages.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

#include "control/channel.h"
#include "control/mad_client.h"

namespace softrnic::control {
namespace {

MadCa sample_ca() {
  MadCa ca;
  ca.name = "soft0";
  ca.node_type = IBV_NODE_SWITCH;
  ca.firmware = "1.2";
  ca.hardware = "0x3";
  ca.type = "softrnic";
  ca.node_guid = 0x1122334455667788;
  ca.system_guid = 5;
  MadPort port;
  port.number = 2;
  port.lid = 0xc0de;
  port.lmc = 3;
  port.sm_lid = 9;
  port.sm_sl = 4;
  port.state = 4;
  port.physical_state = 5;
  port.rate = 100;
  port.capability_mask = 0x2651e848;
  port.link_layer = IBV_LINK_LAYER_ETHERNET;
  port.gid_prefix = 0xfe80000000000000;
  port.port_guid = 0x99;
  port.pkeys = {0xffff, 0x8001};
  ca.ports = {port};
  return ca;
}

TEST(MadCaRecord, IsReadAsItWasWritten) {
  const MadCa ca = sample_ca();
  const auto again = from_record(to_record(ca));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->name, ca.name);
  EXPECT_EQ(again->node_type, ca.node_type);
  EXPECT_EQ(again->firmware, ca.firmware);
  EXPECT_EQ(again->hardware, ca.hardware);
  EXPECT_EQ(again->type, ca.type);
  EXPECT_EQ(again->node_guid, ca.node_guid);
  EXPECT_EQ(again->system_guid, ca.system_guid);
  ASSERT_EQ(again->ports.size(), 1U);
  const MadPort& port = *again->port(2);
  EXPECT_EQ(port.lid, 0xc0de);
  EXPECT_EQ(port.lmc, 3);
  EXPECT_EQ(port.sm_lid, 9);
  EXPECT_EQ(port.sm_sl, 4);
  EXPECT_EQ(port.state, 4);
  EXPECT_EQ(port.physical_state, 5);
  EXPECT_EQ(port.rate, 100U);
  EXPECT_EQ(port.capability_mask, 0x2651e848U);
  EXPECT_FALSE(port.has_qp0());
  EXPECT_EQ(port.gid_prefix, 0xfe80000000000000U);
  EXPECT_EQ(port.port_guid, 0x99U);
  EXPECT_EQ(port.pkeys, ca.ports[0].pkeys);
  EXPECT_EQ(again->port(1), nullptr);
}

TEST(MadCaRecord, OutOfBoundsIsNotTaken) {
  const MadCaRecord good = to_record(sample_ca());
  MadCaRecord bad = good;
  bad.port_count = kMadPortsOfCa + 1;
  EXPECT_FALSE(from_record(bad));
  bad = good;
  bad.ports[0].number = kMadPortsOfCa;
  EXPECT_FALSE(from_record(bad));
  bad = good;
  bad.ports[0].pkey_count = kMadMostPkeys + 1;
  EXPECT_FALSE(from_record(bad));
  bad = good;
  std::fill(std::begin(bad.type), std::end(bad.type), 'x');
  EXPECT_FALSE(from_record(bad));
  bad = good;
  bad.port_count = 2;
  bad.ports[1] = bad.ports[0];
  EXPECT_FALSE(from_record(bad)) << "two ports of one number";
  EXPECT_TRUE(from_record(good));
}

TEST(MadAddress, IsReadAsItWasWritten) {
  mad::Peer peer;
  peer.qpn = Qpn(0x123456);
  peer.qkey = 0x80010000;
  peer.lid = 0x1234;
  peer.sl = 3;
  peer.path_bits = 5;
  peer.has_grh = true;
  peer.gid_index = 7;
  peer.hop_limit = 64;
  peer.traffic_class = 9;
  peer.flow_label = 0xabcde;
  peer.gid = wire::Gid::from_ipv4_be(0x0100000a);
  peer.pkey_index = 6;
  EXPECT_EQ(from_record(to_record(peer)), peer);
}

TEST(MadRegisterAgent, QueuePairsAreTwo) {
  auto message = make_message<MadRegisterAgent>();
  message.methods[0] = 2;
  message.methods[1] = std::uint64_t{1} << 63;
  message.queue = 1;
  const auto wanted = registration_in(message);
  ASSERT_TRUE(wanted);
  EXPECT_TRUE(wanted->methods[1] && wanted->methods[127]);
  EXPECT_EQ(wanted->methods.count(), 2U);
  message.queue = 2;
  EXPECT_FALSE(registration_in(message));
}

// ---- long and short messages

std::vector<std::byte> pattern(std::size_t bytes) {
  std::vector<std::byte> out(bytes);
  for (std::size_t i = 0; i < bytes; ++i) out[i] = static_cast<std::byte>(i * 7);
  return out;
}

TEST(MadBody, ADatagramStandsInTheMessage) {
  MadBody body;
  const auto message = pattern(256);
  const auto fd = put_message(body, message);
  ASSERT_TRUE(fd);
  EXPECT_FALSE(*fd);
  EXPECT_EQ(message_in(body, -1), message);
}

TEST(MadBody, ALongerOneGoesAsAMemfd) {
  for (const std::size_t bytes : {std::size_t{257}, std::size_t{3 << 20}, kMostMadBytes}) {
    MadBody body;
    const auto message = pattern(bytes);
    const auto fd = put_message(body, message);
    ASSERT_TRUE(fd) << bytes;
    ASSERT_TRUE(*fd);
    EXPECT_EQ(message_in(body, fd->get()), message);
    EXPECT_FALSE(message_in(body, -1));
    EXPECT_NE(ftruncate(fd->get(), 0), 0) << "it can be shrunk";
  }
  MadBody body;
  EXPECT_EQ(put_message(body, pattern(kMostMadBytes + 1)).error(), EMSGSIZE);
}

TEST(MadBody, WhatCanShrinkOrIsTooShortIsNotTaken) {
  MadBody body;
  body.length = 1000;
  const UniqueFd unsealed(memfd_create("unsealed", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(ftruncate(unsealed.get(), 1000), 0);
  EXPECT_FALSE(message_in(body, unsealed.get()));
  ASSERT_EQ(fcntl(unsealed.get(), F_ADD_SEALS, F_SEAL_SHRINK), 0);
  EXPECT_TRUE(message_in(body, unsealed.get()));
  body.length = 1001;
  EXPECT_FALSE(message_in(body, unsealed.get()));
  body.length = UINT32_MAX;
  EXPECT_FALSE(message_in(body, unsealed.get()));
  body.length = 1000;
  const UniqueFd device(open("/dev/zero", O_RDONLY | O_CLOEXEC));
  EXPECT_FALSE(message_in(body, device.get()));
}

// ---- the socket of a port

class MadSocketTest : public testing::Test {
 protected:
  void SetUp() override {
    int ends[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
    daemon.reset(ends[0]);
    program.reset(ends[1]);
  }
  void send(Bytes bytes) {
    auto out = make_message<MadReceived>();
    out.agent = 3;
    const auto fd = put_message(out.body, bytes);
    ASSERT_TRUE(fd);
    ASSERT_EQ(send_datagram(daemon.get(), bytes_of(out), fd->get()), 0);
  }
  UniqueFd daemon, program;
  MadReceived got;
  std::vector<std::byte> message;
};

TEST_F(MadSocketTest, WhatWasLookedAtIsStillThere) {
  EXPECT_EQ(peek_mad(program.get(), got), EAGAIN);
  EXPECT_EQ(read_mad(program.get(), got, message), EAGAIN);
  for (const std::size_t bytes : {std::size_t{256}, std::size_t{5000}}) {
    send(pattern(bytes));
    for (int times = 0; times < 3; ++times) {
      EXPECT_EQ(peek_mad(program.get(), got), 0);
      EXPECT_EQ(got.body.length, bytes);
    }
    EXPECT_EQ(read_mad(program.get(), got, message), 0);
    EXPECT_EQ(got.agent, 3U);
    EXPECT_EQ(message, pattern(bytes));
    EXPECT_EQ(peek_mad(program.get(), got), EAGAIN);
  }
}

TEST_F(MadSocketTest, AClosedPortIsDead) {
  daemon.reset();
  EXPECT_EQ(peek_mad(program.get(), got), EIO);
  EXPECT_EQ(read_mad(program.get(), got, message), EIO);
}

TEST_F(MadSocketTest, NonsenseIsGoneOnceItWasRead) {
  ASSERT_EQ(write(daemon.get(), "nonsense", 8), 8);
  EXPECT_EQ(peek_mad(program.get(), got), EBADMSG);
  EXPECT_EQ(read_mad(program.get(), got, message), EBADMSG);
  auto without_memfd = make_message<MadReceived>();
  without_memfd.body.length = 1000;
  ASSERT_EQ(send_datagram(daemon.get(), bytes_of(without_memfd)), 0);
  EXPECT_EQ(read_mad(program.get(), got, message), EBADMSG);
  EXPECT_EQ(read_mad(program.get(), got, message), EAGAIN);
}

}  // namespace
}  // namespace softrnic::control
