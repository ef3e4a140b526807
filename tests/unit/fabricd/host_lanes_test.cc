#include "fabricd/host_lanes.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <cstring>
#include <set>

#include "base/clock.h"
#include "wire/grh.h"
#include "wire/link_header.h"

namespace softrnic::fabricd {
namespace {

class CountingPorts final : public HostPorts {
 public:
  Sent send(std::uint8_t, Bytes) override {
    if (!room) return Sent::no_room;
    ++frames;
    return Sent::taken;
  }
  bool room = true;
  unsigned frames = 0;
};

std::vector<std::byte> local_frame(std::size_t bytes) {
  std::vector<std::byte> frame(bytes);
  wire::LinkHeader lrh;
  lrh.packet_length = static_cast<std::uint16_t>(bytes / 4);
  wire::encode_link_header(lrh, std::span(frame).first<wire::kLrhBytes>());
  return frame;
}

std::vector<std::byte> group_frame(const wire::Gid& group) {
  std::vector<std::byte> frame(wire::kLrhBytes + wire::kGrhBytes + 16);
  wire::LinkHeader lrh;
  lrh.next_header = wire::LinkNextHeader::iba_global;
  lrh.packet_length = static_cast<std::uint16_t>(frame.size() / 4);
  wire::encode_link_header(lrh, std::span(frame).first<wire::kLrhBytes>());
  wire::Grh grh;
  grh.dgid = group;
  wire::encode_grh(grh, std::span(frame).subspan<wire::kLrhBytes, wire::kGrhBytes>());
  return frame;
}

class HostLanesTest : public testing::Test {
 protected:
  HostLanesTest() {
    EXPECT_EQ(loop_.open(), 0);
    lanes_.takes_again = [this] { ++again_; };
  }
  std::uint32_t take() {
    const auto grant = lanes_.take(-1, 0);
    EXPECT_TRUE(grant);
    return grant ? grant->lane : 0;
  }
  void say(std::uint32_t lane, link::FabricMessageType type, const std::vector<std::byte>& body) {
    std::vector<std::byte> message(sizeof(link::FabricHeader));
    const link::FabricHeader header{type, 1, 0};
    std::memcpy(message.data(), &header, sizeof header);
    message.insert(message.end(), body.begin(), body.end());
    ASSERT_EQ(send(lanes_.socket_of(lane), message.data(), message.size(), 0), ssize_t(message.size()));
  }
  std::size_t hear(std::uint32_t lane) {
    std::vector<std::byte> message(link::kMaxFabricMessage);
    return static_cast<std::size_t>(
        std::max<ssize_t>(recv(lanes_.socket_of(lane), message.data(), message.size(), MSG_DONTWAIT), 0));
  }
  void turn() { EXPECT_EQ(loop_.wait(TimePoint{}), 0); }
  daemon::EventLoop loop_;
  CountingPorts ports_;
  HostLanes lanes_{loop_, ports_};
  int again_ = 0;
  const TimePoint now_ = monotonic_now();
};

TEST_F(HostLanesTest, GivesOutEachNumberOnceAndTheOldestFirst) {
  std::set<std::uint32_t> numbers;
  for (std::uint32_t i = 0; i < kMostLanes - 1; ++i) numbers.insert(take());
  EXPECT_EQ(numbers.size(), kMostLanes - 1);
  EXPECT_EQ(*numbers.begin(), 1U);
  EXPECT_EQ(*numbers.rbegin(), kMostLanes - 1);
  const auto refused = lanes_.take(-1, 0);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().error, ENOSPC);
  lanes_.free(7);
  lanes_.free(3);
  EXPECT_EQ(take(), 3U);
  EXPECT_EQ(take(), 7U);
  EXPECT_EQ(lanes_.used(), kMostLanes - 1);
}

TEST_F(HostLanesTest, ALaneIsNewEachTime) {
  const std::uint32_t lane = take();
  const UniqueFd kept(dup(lanes_.socket_of(lane)));
  lanes_.free(lane);
  for (std::uint32_t i = 1; i < kMostLanes; ++i) take();
  EXPECT_TRUE(lanes_.deliver(1, local_frame(64), Qpn::of(static_cast<std::uint8_t>(lane), 5), now_));
  lanes_.flush(now_);
  std::byte byte;
  EXPECT_EQ(recv(kept.get(), &byte, 1, MSG_DONTWAIT), 0) << "who had it before reads nothing of the next";
}

TEST_F(HostLanesTest, SendsWhatProgramsSend) {
  const std::uint32_t lane = take();
  auto frame = local_frame(64);
  frame.resize(frame.size() + 2);
  say(lane, link::FabricMessageType::frames, frame);
  turn();
  EXPECT_EQ(ports_.frames, 1U);
  ports_.room = false;
  say(lane, link::FabricMessageType::frames, frame);
  turn();
  turn();
  EXPECT_EQ(ports_.frames, 1U);
  ports_.room = true;
  lanes_.resume();
  EXPECT_EQ(ports_.frames, 2U);
  say(lane, link::FabricMessageType::frames, frame);
  turn();
  EXPECT_EQ(ports_.frames, 3U);
}

TEST_F(HostLanesTest, AFrameGoesToTheLaneOfItsQueuePair) {
  const std::uint32_t first = take(), second = take();
  EXPECT_TRUE(lanes_.deliver(1, local_frame(64), Qpn::of(static_cast<std::uint8_t>(second), 5), now_));
  EXPECT_TRUE(lanes_.deliver(1, local_frame(64), Qpn::of(200, 5), now_)) << "nobody's: dropped";
  lanes_.flush(now_);
  EXPECT_EQ(hear(first), 0U);
  EXPECT_EQ(hear(second), sizeof(link::FabricHeader) + 66);
}

TEST_F(HostLanesTest, AGroupsFrameGoesToAllWhoHaveJoined) {
  const std::uint32_t lanes[] = {take(), take(), take()};
  wire::Gid group;
  group.raw[0] = std::byte{0xff};
  for (const int i : {0, 2})
    say(lanes[i], link::FabricMessageType::join, {group.raw.begin(), group.raw.end()});
  turn();
  EXPECT_TRUE(lanes_.deliver(1, group_frame(group), Qpn(Qpn::kMulticast), now_));
  EXPECT_TRUE(lanes_.deliver(1, local_frame(64), Qpn(Qpn::kMulticast), now_)) << "of no group";
  lanes_.flush(now_);
  EXPECT_GT(hear(lanes[0]), 0U);
  EXPECT_EQ(hear(lanes[1]), 0U);
  EXPECT_GT(hear(lanes[2]), 0U);
  EXPECT_TRUE(lanes_.deliver(2, group_frame(group), Qpn(Qpn::kMulticast), now_));
  lanes_.flush(now_);
  EXPECT_EQ(hear(lanes[0]), 0U) << "by another port";
}

TEST_F(HostLanesTest, AFullLaneTellsWhenItTakesPacketsAgain) {
  const std::uint32_t lane = take();
  const Qpn to = Qpn::of(static_cast<std::uint8_t>(lane), 5);
  const auto frame = local_frame(4000);
  while (lanes_.deliver(1, frame, to, now_)) continue;
  EXPECT_EQ(lanes_.deadline(), now_ + LaneSocket::kPatience);
  lanes_.flush(now_);
  turn();
  EXPECT_EQ(again_, 0);
  while (hear(lane) != 0) continue;
  turn();
  EXPECT_EQ(again_, 1);
  EXPECT_EQ(lanes_.deadline(), kNever);
  EXPECT_TRUE(lanes_.deliver(1, frame, to, now_));
}

// The socket takes a message as soon as one has been read, but is writable only when it is nearly empty: most
// often the turn's flush finds room first.
TEST_F(HostLanesTest, AFullLaneThatTheTurnsFlushFindsRoomInTakesPacketsAgain) {
  const std::uint32_t lane = take();
  const Qpn to = Qpn::of(static_cast<std::uint8_t>(lane), 5);
  while (lanes_.deliver(1, local_frame(4000), to, now_)) continue;
  lanes_.flush(now_);
  turn();
  ASSERT_EQ(again_, 0);
  ASSERT_NE(hear(lane), 0U);
  lanes_.flush(now_);
  EXPECT_EQ(again_, 1);
  EXPECT_EQ(lanes_.deadline(), kNever);
  lanes_.flush(now_);
  turn();
  EXPECT_EQ(again_, 1) << "once";
}

TEST_F(HostLanesTest, AFullLaneThatAnotherPortsFrameFindsRoomInTakesPacketsAgain) {
  const std::uint32_t lane = take();
  const Qpn to = Qpn::of(static_cast<std::uint8_t>(lane), 5);
  while (lanes_.deliver(1, local_frame(4000), to, now_)) continue;
  for (int i = 0; i < 2; ++i) ASSERT_NE(hear(lane), 0U);
  ASSERT_TRUE(lanes_.deliver(2, local_frame(4000), to, now_));
  lanes_.flush(now_);
  EXPECT_EQ(again_, 1);
}

TEST_F(HostLanesTest, AFullLaneIsNotWaitedForForEver) {
  const std::uint32_t lane = take();
  const Qpn to = Qpn::of(static_cast<std::uint8_t>(lane), 5);
  while (lanes_.deliver(1, local_frame(4000), to, now_)) continue;
  const TimePoint due = lanes_.deadline();
  lanes_.advance(due - Duration(1));
  EXPECT_EQ(again_, 0);
  lanes_.advance(due);
  EXPECT_EQ(again_, 1);
  EXPECT_EQ(lanes_.deadline(), kNever);
  EXPECT_TRUE(lanes_.deliver(1, local_frame(4000), to, due));
}

}  // namespace
}  // namespace softrnic::fabricd
