// What a lane's socket has seen before its reader took it over, and what no sender of ours would send.
#include "link/udp_receiver.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/reason_id.h"
#include "link/udp_link.h"
#include "tests/unit/link/link_fixture.h"

namespace softrnic::link::test {
namespace {

/// A lane's socket with a small receive buffer, and another one that floods it.
class LaneSocket : public ::testing::Test {
 protected:
  LaneSocket() : socket_(bound_socket("127.0.0.1", 0, port_)) {
    constexpr int kSmall = 4096, kOn = 1;
    setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &kSmall, sizeof kSmall);
    setsockopt(socket_, SOL_SOCKET, SO_RXQ_OVFL, &kOn, sizeof kOn);
    const SocketAddress to = to_socket_address(Family::inet, gid_of("127.0.0.1"), port_, 0, 0);
    EXPECT_EQ(connect(flooder_, &to.generic, to.size()), 0);
  }
  ~LaneSocket() override {
    close(socket_);
    close(flooder_);
  }

  /// What is no packet will do. More than the buffer holds, so that many are dropped.
  void flood() {
    for (int i = 0; i < kFlood; ++i) send_one();
  }
  void send_one() { EXPECT_EQ(send(flooder_, bytes_.data(), bytes_.size(), 0), ssize_t{1000}); }
  void drain() {
    char scrap;
    while (recv(socket_, &scrap, sizeof scrap, MSG_DONTWAIT | MSG_TRUNC) >= 0) {
    }
  }
  std::unique_ptr<UdpLink> take_over() {
    return std::make_unique<UdpLink>(
        UdpLink::Options{.fd = dup(socket_), .port = port_, .peer_port = port_, .sizes_buffers = false});
  }
  /// Overflows that are reported when all that has come is read.
  static std::size_t overflows(UdpLink& link) {
    Collector got;
    while (link.receive(got, TimePoint{}) != 0) {
    }
    return static_cast<std::size_t>(std::ranges::count_if(
        got.drops, [](const auto& drop) { return drop.first.id == ReasonId::drop_lane_overflow; }));
  }

  static constexpr int kFlood = 100;
  std::vector<std::byte> bytes_ = std::vector<std::byte>(1000);
  std::uint16_t port_ = 0;
  int socket_;
  int flooder_ = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
};

TEST_F(LaneSocket, WhatItDroppedUnderAnotherReaderIsNotReportedAgain) {
  flood();
  drain();
  const auto link = take_over();
  send_one();
  EXPECT_EQ(overflows(*link), 0U);
}

TEST_F(LaneSocket, WhatWasDroppedBehindPacketsThatStillLieThereIsNotReportedEither) {
  flood();
  const auto link = take_over();  // the packets in the buffer carry lower counts than the socket has now
  EXPECT_EQ(overflows(*link), 0U);
}

TEST_F(LaneSocket, WhatItDropsUnderThisReaderIsReportedOnce) {
  flood();
  drain();
  const auto link = take_over();
  flood();
  EXPECT_EQ(overflows(*link), 0U) << "what was dropped is told with the packets behind it";
  send_one();
  const std::size_t dropped = overflows(*link);
  EXPECT_GT(dropped, 0U);
  EXPECT_LT(dropped, static_cast<std::size_t>(kFlood));
  send_one();
  EXPECT_EQ(overflows(*link), 0U);
}

}  // namespace
}  // namespace softrnic::link::test
