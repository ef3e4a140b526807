#include "engine/local_peers.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <vector>

namespace softrnic::engine {
namespace {

/// A UDP socket on loopback that sends to itself.
class Loop {
 public:
  explicit Loop(int receive_buffer) : fd_(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    bind(fd_, reinterpret_cast<sockaddr*>(&address), size);
    getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size);
    connect(fd_, reinterpret_cast<sockaddr*>(&address), size);
  }
  ~Loop() { close(fd_); }
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  UniqueFd duplicate() const { return UniqueFd(dup(fd_)); }
  void send_bytes(std::size_t bytes) {
    const std::vector<char> data(bytes);
    EXPECT_EQ(send(fd_, data.data(), bytes, 0), static_cast<ssize_t>(bytes));
    ++sent_;
  }
  /// Reads all that there is and returns how many datagrams the socket lost.
  std::size_t lost() {
    char scrap;
    std::size_t got = 0;
    while (recv(fd_, &scrap, 1, MSG_TRUNC) >= 0) ++got;
    return sent_ - got;
  }

 private:
  int fd_;
  std::size_t sent_ = 0;
};

// Small datagrams cost a socket many times their bytes, large ones up to twice.
TEST(SocketGauge, ASenderThatKeepsToItLosesNothing) {
  for (const std::uint32_t bytes : {1U, 70U, 300U, 1088U, 2112U, 4160U, 9000U, 60'000U}) {
    for (const int buffer : {100'000, 212'992, 4'000'000}) {
      Loop loop(buffer);
      SocketGauge gauge(loop.duplicate());
      ASSERT_TRUE(gauge.works());
      for (int round = 0; round < 200; ++round) {
        std::uint32_t room = gauge.room(TimePoint{});
        if (room < ib::datagram_cost(bytes)) break;
        for (; room >= ib::datagram_cost(bytes); room -= ib::datagram_cost(bytes)) loop.send_bytes(bytes);
      }
      EXPECT_EQ(loop.lost(), 0U) << bytes << " bytes, buffer " << buffer;
    }
  }
}

TEST(SocketGauge, RefusesBeforeTheSocketIsFullAndGivesRoomWhenItIsRead) {
  Loop loop(212'992);
  SocketGauge gauge(loop.duplicate());
  EXPECT_GE(gauge.room(TimePoint{}), ib::datagram_cost(4160));
  for (int i = 0; i < 200 && gauge.room(TimePoint{}) != 0; ++i) loop.send_bytes(4160);
  EXPECT_EQ(gauge.room(TimePoint{}), 0U);
  EXPECT_EQ(loop.lost(), 0U);
  EXPECT_GE(gauge.room(TimePoint{}), ib::datagram_cost(4160));
}

struct Peers : testing::Test {
  const wire::Gid mine = wire::Gid::from_ipv4_be(htonl(0x7f000001));
  LocalPeers peers;
  ib::PathWindow window, other;
  const TimePoint now{std::chrono::milliseconds(5)};

  /// Whether the window goes by a gauge: it then knows no rate.
  bool gauged(ib::PathWindow& w) const {
    for (int i = 0; i < 1000; ++i) {
      if (w.admit(4160, now) != now) return false;
    }
    return true;
  }
};

TEST_F(Peers, AreAtTheAddressesOfThisHost) {
  EXPECT_FALSE(peers.has(mine));
  peers.set_addresses({rnic::GidEntry{.gid = mine}});
  EXPECT_TRUE(peers.has(mine));
  EXPECT_FALSE(peers.has(wire::Gid::from_ipv4_be(htonl(0x0a000001))));
}

TEST_F(Peers, AreAskedForOnceAndServeAllPathsToTheirLane) {
  Loop loop(4'000'000);
  peers.watch(3, window);
  EXPECT_TRUE(peers.any_strangers());
  EXPECT_EQ(peers.take_strangers(), std::vector<std::uint8_t>{3});
  EXPECT_FALSE(gauged(window));
  peers.meet(3, loop.duplicate());
  EXPECT_TRUE(gauged(window));
  peers.watch(3, other);
  EXPECT_FALSE(peers.any_strangers());
  EXPECT_TRUE(gauged(other));
}

TEST_F(Peers, ThatAreNotToBeHadAreDoneWithout) {
  peers.watch(3, window);
  static_cast<void>(peers.take_strangers());
  peers.meet(3, UniqueFd());
  EXPECT_FALSE(gauged(window));
  peers.watch(3, other);
  EXPECT_FALSE(peers.any_strangers());
}

}  // namespace
}  // namespace softrnic::engine
