#include "link/fabric_groups.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <vector>

#include "link/fabric_link.h"
#include "tests/unit/link/link_fixture.h"

namespace softrnic::link::test {
namespace {

/// The test is the lane's fabric.
class FabricGroupsTest : public ::testing::Test {
 protected:
  struct Said {
    FabricMessageType type{};
    std::uint8_t port = 0;
    wire::Gid group;
    bool operator==(const Said&) const = default;
  };

  FabricGroupsTest() {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0) return;
    fabric_ = UniqueFd(ends[1]);
    link_.emplace(UniqueFd(ends[0]));
    maker_.path.interface_index = kFabricPort;
    maker_.path.source = maker_.path.destination = wire::Gid::of_lid(wire::Lid(7));
  }
  void send() { link_->send(maker_.make(wire::Opcode::rc_send_only, 1, pattern(4096, 1)), now_); }
  void fill() {
    while (!link_->is_full()) {
      send();
      link_->flush(now_);
    }
  }
  /// All that the lane has said; of frames no more than that.
  std::vector<Said> hear() {
    std::vector<Said> all;
    std::vector<std::byte> bytes(kMaxFabricMessage);
    while (recv(fabric_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT) > 0) {
      Said& said = all.emplace_back();
      FabricHeader header;
      std::memcpy(&header, bytes.data(), sizeof header);
      said.type = header.type;
      said.port = header.port;
      if (header.type != FabricMessageType::frames)
        std::memcpy(said.group.raw.data(), &bytes[sizeof header], sizeof said.group.raw);
    }
    return all;
  }
  /// What it says from now on until it has nothing more to say.
  std::vector<Said> hear_all() {
    std::vector<Said> all;
    for (bool more = true; more; link_->flush(now_)) {
      more = link_->is_full();
      const auto some = hear();
      all.insert(all.end(), some.begin(), some.end());
    }
    return all;
  }
  /// The same, of groups.
  std::vector<Said> hear_of_groups() {
    auto all = hear_all();
    std::erase_if(all, [](const Said& said) { return said.type == FabricMessageType::frames; });
    return all;
  }
  static wire::Gid numbered(std::size_t number) {
    wire::Gid group = gid_of("ff12:401b:ffff::");
    group.raw[14] = static_cast<std::byte>(number >> 8);
    group.raw[15] = static_cast<std::byte>(number);
    return group;
  }

  const wire::Gid group_ = gid_of("ff12:401b:ffff::1");
  const TimePoint now_{std::chrono::seconds(5)};
  PacketMaker maker_;
  UniqueFd fabric_;
  std::optional<FabricLink> link_;
};

TEST_F(FabricGroupsTest, TellsTheFabricAtOnce) {
  EXPECT_TRUE(link_->join(group_, kFabricPort));
  EXPECT_EQ(hear(), (std::vector{Said{FabricMessageType::join, kFabricPort, group_}}));
  EXPECT_TRUE(link_->join(group_, kFabricPort + 1)) << "each port has members of its own";
  EXPECT_EQ(hear(), (std::vector{Said{FabricMessageType::join, kFabricPort + 1, group_}}));
  EXPECT_TRUE(link_->leave(group_, kFabricPort));
  EXPECT_EQ(hear(), (std::vector{Said{FabricMessageType::leave, kFabricPort, group_}}));
  EXPECT_FALSE(link_->leave(group_, kFabricPort));
  EXPECT_TRUE(hear().empty());
  EXPECT_FALSE(link_->is_full());
}

TEST_F(FabricGroupsTest, AFullLinkTellsLater) {
  EXPECT_TRUE(link_->join(group_, kFabricPort));
  fill();
  EXPECT_TRUE(link_->leave(group_, kFabricPort));
  EXPECT_TRUE(link_->join(numbered(9), kFabricPort));
  EXPECT_EQ(hear_of_groups(), (std::vector{Said{FabricMessageType::join, kFabricPort, group_},
                                           Said{FabricMessageType::leave, kFabricPort, group_},
                                           Said{FabricMessageType::join, kFabricPort, numbered(9)}}));
  EXPECT_FALSE(link_->is_full());
}

// Members get their own packets, too.
TEST_F(FabricGroupsTest, AJoinIsNotOvertaken) {
  fill();
  EXPECT_TRUE(link_->join(group_, kFabricPort));
  const auto all = hear_all();
  EXPECT_EQ(std::count(all.begin(), all.end(), Said{FabricMessageType::join, kFabricPort, group_}), 1);
  EXPECT_EQ(all.back().type, FabricMessageType::frames);
}

TEST_F(FabricGroupsTest, ALinkThatHasGroupsToTellOfIsFullAndWantsAFlush) {
  std::size_t joined = 0;
  while (!link_->is_full()) {
    ASSERT_LT(joined, kMostFabricGroups) << "a socket takes no end of messages";
    EXPECT_TRUE(link_->join(numbered(joined++), kFabricPort));
  }
  EXPECT_LE(link_->deadline(), now_) << "nobody has flushed it yet";
  link_->flush(now_);
  EXPECT_EQ(link_->deadline(), now_ + FabricLink::kFlushAgain);
  EXPECT_EQ(hear_of_groups().size(), joined);
  EXPECT_EQ(link_->deadline(), kNever);
}

TEST_F(FabricGroupsTest, WhatTheFabricNeverHeardOfIsNotToldOf) {
  fill();
  EXPECT_TRUE(link_->join(group_, kFabricPort));
  EXPECT_TRUE(link_->leave(group_, kFabricPort));
  EXPECT_TRUE(hear_of_groups().empty());
  EXPECT_TRUE(link_->join(group_, kFabricPort));
  hear();
  fill();
  EXPECT_TRUE(link_->leave(group_, kFabricPort));
  EXPECT_TRUE(link_->join(group_, kFabricPort));
  EXPECT_TRUE(hear_of_groups().empty());
  EXPECT_TRUE(link_->leave(group_, kFabricPort)) << "and yet it is a member";
}

TEST_F(FabricGroupsTest, RefusesMoreThanTheFabricTakes) {
  for (std::size_t i = 0; i < kMostFabricGroups; ++i) {
    ASSERT_TRUE(link_->join(numbered(i), kFabricPort));
    hear();
  }
  errno = 0;
  EXPECT_FALSE(link_->join(numbered(kMostFabricGroups), kFabricPort));
  EXPECT_EQ(errno, ENOBUFS);
  EXPECT_TRUE(link_->join(numbered(7), kFabricPort)) << "it is a member";
  EXPECT_TRUE(hear().empty());
  EXPECT_TRUE(link_->leave(numbered(7), kFabricPort));
  EXPECT_TRUE(link_->join(numbered(kMostFabricGroups), kFabricPort));
}

TEST_F(FabricGroupsTest, WhereTheFabricHasEndedThereAreNoMembers) {
  EXPECT_TRUE(link_->join(group_, kFabricPort));
  fabric_.reset();
  errno = 0;
  EXPECT_FALSE(link_->join(numbered(9), kFabricPort));
  EXPECT_NE(errno, 0);
  EXPECT_TRUE(link_->leave(group_, kFabricPort));
  EXPECT_FALSE(link_->is_full());
}

}  // namespace
}  // namespace softrnic::link::test
