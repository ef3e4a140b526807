#include "link/fabric_link.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <cstring>
#include <optional>
#include <vector>

#include "base/reason_id.h"
#include "link/fabric_message.h"
#include "tests/unit/link/link_fixture.h"

namespace softrnic::link::test {
namespace {

constexpr wire::Lid kHere{7}, kThere{9};

/// A lane on a host whose port 3 has LID 7; the test is its fabric.
class FabricLinkTest : public ::testing::Test {
 protected:
  FabricLinkTest() {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0) return;
    fabric_ = UniqueFd(ends[1]);
    link_.emplace(UniqueFd(ends[0]));
    link_->set_addresses({{gid_of("fe80::1"), kFabricPort}, {wire::Gid::of_lid(kHere), kFabricPort}});
    maker_.path.dlid = kThere;
    maker_.path.interface_index = kFabricPort;
    by_lid();
  }
  void by_lid() {
    maker_.path.source = wire::Gid::of_lid(kHere);
    maker_.path.destination = wire::Gid::of_lid(kThere);
  }
  void by_gid() {
    maker_.path.source = gid_of("fe80::1");
    maker_.path.destination = gid_of("fe80::2");
  }
  /// The next message of the lane; empty: there is none.
  std::vector<std::byte> message() {
    std::vector<std::byte> bytes(kMaxFabricMessage + 1);
    const ssize_t got = recv(fabric_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    return bytes;
  }
  void to_lane(const std::vector<std::byte>& bytes) {
    ASSERT_EQ(send(fabric_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT), ssize_t(bytes.size()));
  }
  /// Hands all that the lane has sent back to it, as a cable with a plug at one end does.
  void loop_back() {
    for (auto bytes = message(); !bytes.empty(); bytes = message()) to_lane(bytes);
  }
  /// Takes all that the lane has sent, and counts its frames.
  void count_frames() {
    for (auto bytes = message(); !bytes.empty(); bytes = message())
      for (Bytes rest = Bytes(bytes).subspan(sizeof(FabricHeader)); !rest.empty(); ++frames_)
        rest = rest.subspan(wire::decode_link_header(rest.first<wire::kLrhBytes>()).bytes_before_vcrc() +
                            wire::kVcrcBytes);
  }
  Collector got_;
  std::size_t frames_ = 0;  ///< counted
  PacketMaker maker_;
  UniqueFd fabric_;
  std::optional<FabricLink> link_;
};

TEST_F(FabricLinkTest, SendsFramesFromThePortsLid) {
  maker_.path.service_level = 5;
  maker_.path.source_path_bits = 0;
  link_->send(maker_.make(wire::Opcode::rc_send_only, 17, pattern(30, 1), 3), TimePoint{});
  link_->flush(TimePoint{});
  const auto bytes = message();
  ASSERT_GT(bytes.size(), sizeof(FabricHeader));
  EXPECT_EQ(bytes[0], std::byte{static_cast<std::uint8_t>(FabricMessageType::frames)});
  EXPECT_EQ(bytes[1], std::byte{kFabricPort});
  const auto frame = wire::parse_infiniband_frame(Bytes(bytes).subspan(sizeof(FabricHeader)));
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->route.local.slid, kHere);
  EXPECT_EQ(frame->route.local.dlid, kThere);
  EXPECT_EQ(frame->route.local.sl, 5);
  EXPECT_FALSE(frame->route.global);
  EXPECT_EQ(frame->packet.headers.bth.psn, 17U);
  EXPECT_EQ(frame->packet.headers.bth.pad, 2);
  EXPECT_TRUE(wire::has_right_icrc(Bytes(bytes).subspan(sizeof(FabricHeader))));
}

TEST_F(FabricLinkTest, PathBitsAreAddedToTheLid) {
  maker_.path.source_path_bits = 8;
  link_->send(maker_.make(wire::Opcode::rc_send_only, 1, pattern(4, 1)), TimePoint{});
  link_->flush(TimePoint{});
  const auto bytes = message();
  ASSERT_GT(bytes.size(), sizeof(FabricHeader) + wire::kLrhBytes);
  EXPECT_EQ(wire::decode_link_header(Bytes(bytes).subspan<sizeof(FabricHeader), wire::kLrhBytes>()).slid,
            wire::Lid(15));
}

TEST_F(FabricLinkTest, CarriesGlobalAndLocalPacketsOfEverySize) {
  std::uint32_t psn = 0;
  for (const bool global : {false, true}) {
    global ? by_gid() : by_lid();
    for (const std::size_t size : {0U, 1U, 2U, 3U, 4U, 255U, 1024U, 4096U}) {
      link_->send(maker_.make(wire::Opcode::rc_send_only, psn, pattern(size, psn + 1)), TimePoint{});
      ++psn;
    }
  }
  link_->flush(TimePoint{});
  loop_back();
  read_until(*link_, got_, psn);
  ASSERT_EQ(got_.packets.size(), psn);
  EXPECT_TRUE(got_.drops.empty());
  for (std::uint32_t i = 0; i < psn; ++i) {
    const Got& packet = got_.packets[i];
    EXPECT_EQ(packet.headers.bth.psn, i);
    EXPECT_EQ(packet.payload, pattern(packet.payload.size(), i + 1));
    EXPECT_EQ(packet.interface_index, kFabricPort);
    EXPECT_EQ(packet.source, i < psn / 2 ? wire::Gid::of_lid(kHere) : gid_of("fe80::1"));
    EXPECT_EQ(packet.destination, i < psn / 2 ? wire::Gid::of_lid(kThere) : gid_of("fe80::2"));
  }
}

TEST_F(FabricLinkTest, LongMessagesAreTakenApartAndPutTogether) {
  const auto payload = pattern(100 * 1024 + 77, 5);
  ib::TxPacket whole = maker_.make(wire::Opcode::rc_write_only_imm, 0xfffffe, payload, 7);
  whole.packets = 101;
  whole.path_mtu = 1024;
  whole.headers.bth.pad = 3;
  whole.headers.reth = {0x1000, MemoryKey(5), static_cast<std::uint32_t>(payload.size())};
  link_->send(whole, TimePoint{});
  link_->flush(TimePoint{});
  loop_back();
  read_until(*link_, got_, 101);
  ASSERT_EQ(got_.count(), 101U);
  EXPECT_TRUE(got_.drops.empty());
  EXPECT_LT(got_.packets.size(), 101U) << "those of one message come as one";
  std::vector<std::byte> came;
  for (const Got& packet : got_.packets)
    came.insert(came.end(), packet.payload.begin(), packet.payload.end());
  EXPECT_EQ(came, payload);
}

// Nobody but the sender's fabric sees the LIDs of a packet that it joins to another.
TEST_F(FabricLinkTest, PacketsOfTwoPathsAreNotJoined) {
  link_->send(maker_.make(wire::Opcode::rc_send_first, 1, pattern(256, 1)), TimePoint{});
  maker_.path.service_level = 3;
  link_->send(maker_.make(wire::Opcode::rc_send_middle, 2, pattern(256, 2)), TimePoint{});
  link_->flush(TimePoint{});
  loop_back();
  read_until(*link_, got_, 2);
  EXPECT_EQ(got_.packets.size(), 2U);
}

TEST_F(FabricLinkTest, DamageIsNoticedAndDropped) {
  for (std::uint32_t bit = 0; bit < 4000; bit += 37) {
    if (bit / 8 == 4) continue;  // FECN and BECN of the BTH: the ICRC does not cover them
    link_->send_damaged(maker_.make(wire::Opcode::rc_send_only, 1, pattern(300, 1)), bit, TimePoint{});
    link_->flush(TimePoint{});
    loop_back();
    read_until(*link_, got_, 1);
    EXPECT_TRUE(got_.packets.empty()) << "bit " << bit;
    EXPECT_EQ(got_.drops.size(), 1U) << "bit " << bit;
    got_ = {};
  }
}

// The fabric is slow: nothing is lost, and the lane is told to wait.
TEST_F(FabricLinkTest, WhatTheSocketDoesNotTakeStays) {
  std::uint32_t psn = 0;
  while (!link_->is_full()) {
    ASSERT_LT(psn, 100'000U) << "a socket takes no end of packets";
    for (int i = 0; i < 256; ++i, ++psn)
      link_->send(maker_.make(wire::Opcode::rc_send_only, psn & 0xffffff, pattern(4096, psn)), TimePoint{});
    link_->flush(TimePoint{});
  }
  std::uint32_t next = 0;
  for (bool more = true; more; link_->flush(TimePoint{})) {
    more = link_->is_full();
    for (auto bytes = message(); !bytes.empty(); bytes = message()) {
      for (Bytes rest = Bytes(bytes).subspan(sizeof(FabricHeader)); !rest.empty();) {
        const auto lrh = wire::decode_link_header(rest.first<wire::kLrhBytes>());
        const Bytes frame = rest.first(lrh.bytes_before_vcrc() + wire::kVcrcBytes);
        rest = rest.subspan(frame.size());
        const auto parsed = wire::parse_infiniband_frame(frame);
        ASSERT_TRUE(parsed);
        EXPECT_EQ(parsed->packet.headers.bth.psn, next++ & 0xffffff);
      }
    }
  }
  EXPECT_EQ(next, psn);
  EXPECT_FALSE(link_->is_full());
}

// Queue pairs of two devices of a host may share a lane.
TEST_F(FabricLinkTest, PortsTakeTurnsInFewMessagesAndLoseNothing) {
  constexpr std::uint32_t kPackets = 256;
  for (std::uint32_t i = 0; i < kPackets; ++i) {
    maker_.path.interface_index = kFabricPort + i % 2;
    link_->send(maker_.make(wire::Opcode::rc_send_only, i, pattern(8, i)), TimePoint{});
  }
  link_->flush(TimePoint{});
  link_->receive(got_, TimePoint{});
  EXPECT_TRUE(got_.drops.empty());
  for (std::uint32_t port = 0; port < 2; ++port) {
    const auto bytes = message();
    ASSERT_FALSE(bytes.empty());
    EXPECT_EQ(bytes[1], static_cast<std::byte>(kFabricPort + port));
    std::uint32_t next = port;
    for (Bytes rest = Bytes(bytes).subspan(sizeof(FabricHeader)); !rest.empty(); next += 2) {
      const auto lrh = wire::decode_link_header(rest.first<wire::kLrhBytes>());
      const auto parsed =
          wire::parse_infiniband_frame(rest.first(lrh.bytes_before_vcrc() + wire::kVcrcBytes));
      ASSERT_TRUE(parsed);
      EXPECT_EQ(parsed->packet.headers.bth.psn, next);
      rest = rest.subspan(lrh.bytes_before_vcrc() + wire::kVcrcBytes);
    }
    EXPECT_EQ(next, kPackets + port);
  }
  EXPECT_TRUE(message().empty());
}

TEST_F(FabricLinkTest, MuchIsSentWithoutAFlush) {
  const UniqueFd socket = std::move(fabric_);
  std::size_t bytes = 0;
  const auto payload = pattern(std::size_t{60} * 1024, 1);
  for (int i = 0; i < 256; ++i) {
    ib::TxPacket whole = maker_.make(wire::Opcode::rc_write_only_imm, 0, payload);
    whole.packets = 15;
    whole.path_mtu = 4096;
    link_->send(whole, TimePoint{});
    std::byte first;
    for (ssize_t size = 1; size > 0; bytes += static_cast<std::size_t>(std::max<ssize_t>(size, 0)))
      size = recv(socket.get(), &first, 1, MSG_DONTWAIT | MSG_TRUNC);
    if (link_->is_full()) link_->flush(TimePoint{});
  }
  link_->receive(got_, TimePoint{});
  EXPECT_TRUE(got_.drops.empty());
  EXPECT_GT(bytes, 200 * payload.size());
}

// A lane looks whether the link is full after each turn of a queue pair: 256 KiB, and a long packet.
TEST_F(FabricLinkTest, WhoStopsWhenItIsFullLosesNothing) {
  by_gid();
  std::uint32_t sent = 0;
  const auto payload = pattern(256, 1);
  while (!link_->is_full()) {
    for (std::size_t bytes = 0; bytes < std::size_t{318} * 1024; bytes += payload.size(), ++sent)
      link_->send(maker_.make(wire::Opcode::rc_send_only, 0, payload), TimePoint{});
    ASSERT_LT(sent, 1'000'000U) << "a socket takes no end of packets";
  }
  for (bool more = true; more; link_->flush(TimePoint{})) {
    more = link_->is_full();
    count_frames();
  }
  EXPECT_EQ(frames_, sent);
  link_->receive(got_, TimePoint{});
  EXPECT_TRUE(got_.drops.empty());
}

// Who polls learns from nothing else that there may be room: no packet need come, and nothing is left to do.
TEST_F(FabricLinkTest, AFullLinkWantsToBeFlushedAgainSoon) {
  const TimePoint now{std::chrono::seconds(5)};
  EXPECT_EQ(link_->deadline(), kNever);
  while (!link_->is_full()) {
    link_->send(maker_.make(wire::Opcode::rc_send_only, 1, pattern(4096, 1)), now);
    link_->flush(now);
  }
  EXPECT_EQ(link_->deadline(), now + FabricLink::kFlushAgain);
  link_->flush(now + FabricLink::kFlushAgain);
  EXPECT_EQ(link_->deadline(), now + 2 * FabricLink::kFlushAgain);
  while (!message().empty()) continue;
  link_->flush(now + 2 * FabricLink::kFlushAgain);
  EXPECT_EQ(link_->deadline(), kNever);
  EXPECT_FALSE(message().empty());
}

TEST_F(FabricLinkTest, GarbageIsDroppedAndHoldsNothingUp) {
  std::vector<std::byte> bytes(sizeof(FabricHeader));
  const FabricHeader header{FabricMessageType::frames, kFabricPort, 0};
  std::memcpy(bytes.data(), &header, sizeof header);
  for (unsigned seed = 0; seed < 200; ++seed) {
    auto garbage = pattern(1 + seed * 3, seed);
    garbage.insert(garbage.begin(), bytes.begin(), bytes.end());
    to_lane(garbage);
    read_until(*link_, got_, 1);
    EXPECT_TRUE(got_.packets.empty());
    EXPECT_GE(got_.drops.size(), 1U);
    got_ = {};
  }
  to_lane({std::byte{9}});                               // no header
  to_lane(std::vector<std::byte>(40, std::byte{0x77}));  // no such type
  link_->send(maker_.make(wire::Opcode::rc_send_only, 5, pattern(8, 5)), TimePoint{});
  link_->flush(TimePoint{});
  loop_back();
  for (int i = 0; i < 3 && got_.count() == 0; ++i) read_until(*link_, got_, 1);
  EXPECT_EQ(got_.packets.size(), 1U);
}

TEST_F(FabricLinkTest, AFabricThatHasEndedWakesNobodyForEver) {
  fabric_.reset();
  EXPECT_FALSE(link_->has_packet(TimePoint{}));
  EXPECT_EQ(link_->receive(got_, TimePoint{}), 0U);
  EXPECT_EQ(link_->readable_fd(), -1);
  EXPECT_FALSE(link_->join(gid_of("ff12:401b:ffff::1"), kFabricPort));
  EXPECT_EQ(link_->deadline(), kNever);
  link_->send(maker_.make(wire::Opcode::rc_send_only, 1, pattern(4, 1)), TimePoint{});
  link_->flush(TimePoint{});
  EXPECT_FALSE(link_->is_full());
  EXPECT_EQ(link_->deadline(), TimePoint::min());
  link_->receive(got_, TimePoint{});
  ASSERT_EQ(got_.drops.size(), 1U);
  EXPECT_EQ(got_.drops[0].first.id, ReasonId::send_failed);
}

}  // namespace
}  // namespace softrnic::link::test
