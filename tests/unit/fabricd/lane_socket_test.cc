#include "fabricd/lane_socket.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <cstring>

#include "wire/link_header.h"
#include "wire/vcrc.h"

namespace softrnic::fabricd {
namespace {

using link::FabricHeader;
using link::FabricMessageType;

/// Takes so many frames.
class RecordingPorts final : public HostPorts {
 public:
  Sent send(std::uint8_t port, Bytes frame) override {
    if (room == 0) return Sent::no_room;
    --room;
    frames.emplace_back(frame.begin(), frame.end());
    last_port = port;
    return Sent::taken;
  }
  std::size_t room = 1'000'000;
  std::uint8_t last_port = 0;
  std::vector<std::vector<std::byte>> frames;
};

/// LRH and `words` - 2 words of payload, which differ by `seed`; with VCRC or without.
std::vector<std::byte> frame_of(std::uint16_t words, unsigned seed, bool with_vcrc) {
  std::vector<std::byte> bytes(std::size_t{4} * words + (with_vcrc ? wire::kVcrcBytes : 0));
  wire::LinkHeader lrh;
  lrh.packet_length = words;
  lrh.dlid = wire::Lid(9);
  wire::encode_link_header(lrh, std::span(bytes).first<wire::kLrhBytes>());
  for (std::size_t i = wire::kLrhBytes; i < std::size_t{4} * words; ++i)
    bytes[i] = static_cast<std::byte>(seed * 13 + i);
  return bytes;
}

class LaneSocketTest : public testing::Test {
 protected:
  LaneSocketTest() {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
    program_ = UniqueFd(ends[1]);
    lane_.emplace(UniqueFd(ends[0]), ports_);
  }
  void say(FabricMessageType type, std::uint8_t port, const std::vector<std::byte>& body) {
    std::vector<std::byte> message(sizeof(FabricHeader));
    const FabricHeader header{type, port, 0};
    std::memcpy(message.data(), &header, sizeof header);
    message.insert(message.end(), body.begin(), body.end());
    ASSERT_EQ(send(program_.get(), message.data(), message.size(), 0), ssize_t(message.size()));
  }
  std::vector<std::byte> hear() {
    std::vector<std::byte> message(link::kMaxFabricMessage + 1);
    const ssize_t size = recv(program_.get(), message.data(), message.size(), MSG_DONTWAIT);
    message.resize(static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
    return message;
  }
  /// Brings frames until one is not taken; how many were.
  std::size_t fill(TimePoint now) {
    std::size_t taken = 0;
    while (lane_->deliver(1, frame_of(1000, 0, false), now) && taken < 100'000) ++taken;
    return taken;
  }
  RecordingPorts ports_;
  UniqueFd program_;
  std::optional<LaneSocket> lane_;
  const TimePoint start_{std::chrono::seconds(100)};
};

TEST_F(LaneSocketTest, SendsEachFrameOfAMessage) {
  std::vector<std::byte> body;
  for (unsigned i = 0; i < 5; ++i) {
    const auto frame = frame_of(static_cast<std::uint16_t>(7 + i), i, true);
    body.insert(body.end(), frame.begin(), frame.end());
  }
  say(FabricMessageType::frames, 2, body);
  lane_->read();
  ASSERT_EQ(ports_.frames.size(), 5U);
  EXPECT_EQ(ports_.last_port, 2);
  for (unsigned i = 0; i < 5; ++i)
    EXPECT_EQ(ports_.frames[i], frame_of(static_cast<std::uint16_t>(7 + i), i, false));
}

TEST_F(LaneSocketTest, WaitsForRoomAndGoesOnWhereItWas) {
  for (unsigned i = 0; i < 20; ++i) {
    auto body = frame_of(10, 2 * i, true);
    const auto second = frame_of(11, 2 * i + 1, true);
    body.insert(body.end(), second.begin(), second.end());
    say(FabricMessageType::frames, 1, body);
  }
  std::size_t turns = 0;
  while (ports_.frames.size() < 40 && ++turns < 100) {
    ports_.room = 3;
    lane_->resume();
    lane_->read();
    EXPECT_FALSE(lane_->wants_to_read() && ports_.room == 0 && ports_.frames.size() < 39);
  }
  ASSERT_EQ(ports_.frames.size(), 40U);
  for (unsigned i = 0; i < 40; ++i)
    EXPECT_EQ(ports_.frames[i], frame_of(static_cast<std::uint16_t>(10 + i % 2), i, false));
}

TEST_F(LaneSocketTest, GarbageIsNotSent) {
  say(FabricMessageType::frames, 1, std::vector<std::byte>(7, std::byte{1}));       // no LRH
  say(FabricMessageType::frames, 1, std::vector<std::byte>(100, std::byte{0}));     // PktLen 0
  say(FabricMessageType::frames, 1, std::vector<std::byte>(100, std::byte{0xff}));  // longer than the message
  say(static_cast<FabricMessageType>(99), 1, frame_of(10, 0, true));
  ASSERT_EQ(send(program_.get(), "x", 1, 0), 1);
  lane_->read();
  EXPECT_TRUE(ports_.frames.empty());
  say(FabricMessageType::frames, 1, frame_of(10, 5, true));
  lane_->read();
  EXPECT_EQ(ports_.frames.size(), 1U);
}

TEST_F(LaneSocketTest, DeliversManyFramesInFewMessages) {
  for (unsigned i = 0; i < 30; ++i) EXPECT_TRUE(lane_->deliver(1, frame_of(1000, i, false), start_));
  lane_->flush(start_);
  unsigned frames = 0;
  unsigned messages = 0;
  for (auto message = hear(); !message.empty(); message = hear(), ++messages) {
    for (std::size_t at = sizeof(FabricHeader); at < message.size(); ++frames) {
      const auto expected = frame_of(1000, frames, true);
      ASSERT_LE(at + expected.size(), message.size());
      EXPECT_EQ(std::memcmp(&message[at], expected.data(), expected.size()), 0);
      at += expected.size();
    }
  }
  EXPECT_EQ(frames, 30U);
  EXPECT_EQ(messages, 2U);
}

TEST_F(LaneSocketTest, FramesOfTwoPortsDoNotShareAMessage) {
  EXPECT_TRUE(lane_->deliver(1, frame_of(10, 1, false), start_));
  EXPECT_TRUE(lane_->deliver(2, frame_of(10, 2, false), start_));
  lane_->flush(start_);
  EXPECT_EQ(hear().at(1), std::byte{1});
  EXPECT_EQ(hear().at(1), std::byte{2});
}

TEST_F(LaneSocketTest, AProgramThatReadsLateLosesNothing) {
  const std::size_t first = fill(start_);
  EXPECT_TRUE(lane_->is_full());
  std::size_t bytes = 0;
  for (auto message = hear(); !message.empty(); message = hear())
    bytes += message.size() - sizeof(FabricHeader);
  EXPECT_TRUE(lane_->deliver(1, frame_of(1000, 0, false), start_ + LaneSocket::kPatience / 2));
  lane_->flush(start_ + LaneSocket::kPatience / 2);
  EXPECT_FALSE(lane_->is_full());
  for (auto message = hear(); !message.empty(); message = hear())
    bytes += message.size() - sizeof(FabricHeader);
  EXPECT_EQ(bytes, (first + 1) * frame_of(1000, 0, true).size());
  EXPECT_EQ(lane_->dropped(), 0U);
}

TEST_F(LaneSocketTest, AStoppedProgramHoldsNobodyUpForLong) {
  fill(start_);
  EXPECT_FALSE(lane_->deliver(1, frame_of(1000, 0, false), start_ + LaneSocket::kPatience / 2));
  EXPECT_TRUE(lane_->deliver(1, frame_of(1000, 0, false), start_ + LaneSocket::kPatience));
  EXPECT_EQ(lane_->dropped(), 1U);
}

TEST_F(LaneSocketTest, RemembersGroups) {
  wire::Gid group;
  group.raw[0] = std::byte{0xff};
  const std::vector<std::byte> body(group.raw.begin(), group.raw.end());
  say(FabricMessageType::join, 1, body);
  say(FabricMessageType::join, 1, body);
  lane_->read();
  EXPECT_TRUE(lane_->has_joined(1, group));
  EXPECT_FALSE(lane_->has_joined(2, group)) << "of the port that it was joined by";
  say(FabricMessageType::join, 2, body);
  say(FabricMessageType::leave, 1, body);
  lane_->read();
  EXPECT_FALSE(lane_->has_joined(1, group));
  EXPECT_TRUE(lane_->has_joined(2, group));
}

TEST_F(LaneSocketTest, GroupsAreBounded) {
  for (std::size_t i = 0; i < link::kMostFabricGroups + 5; ++i) {
    std::vector<std::byte> body(16, std::byte{0xff});
    body[14] = static_cast<std::byte>(i >> 8);
    body[15] = static_cast<std::byte>(i);
    say(FabricMessageType::join, 1, body);
    lane_->read();
  }
  wire::Gid last;
  last.raw.fill(std::byte{0xff});
  last.raw[14] = std::byte{(link::kMostFabricGroups + 4) >> 8};
  last.raw[15] = std::byte{(link::kMostFabricGroups + 4) & 0xff};
  EXPECT_FALSE(lane_->has_joined(1, last));
}

TEST_F(LaneSocketTest, AProgramThatHasGoneIsNotReadForEver) {
  program_.reset();
  lane_->read();
  EXPECT_FALSE(lane_->wants_to_read());
  EXPECT_TRUE(lane_->deliver(1, frame_of(10, 0, false), start_));
  lane_->flush(start_);
  EXPECT_FALSE(lane_->is_full());
}

}  // namespace
}  // namespace softrnic::fabricd
