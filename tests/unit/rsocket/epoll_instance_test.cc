// repoll with descriptors that are no rsockets; with rsockets: tests/abi.
#include "rsocket/epoll_instance.h"

#include <gtest/gtest.h>
#include <sys/eventfd.h>

#include <set>
#include <thread>

namespace softrnic::rsocket {
namespace {

constexpr int kNoLimit = -1;

class EpollInstanceTest : public testing::Test {
 protected:
  void SetUp() override {
    auto made = EpollInstance::make(0);
    ASSERT_TRUE(made);
    epoll = *made;
  }
  static UniqueFd event_fd(unsigned value = 0) { return UniqueFd(eventfd(value, EFD_NONBLOCK)); }
  int control(int operation, int fd, std::uint32_t events = 0, std::uint64_t data = 0) {
    epoll_event event{};
    event.events = events;
    event.data.u64 = data;
    const auto done = epoll->control(operation, fd, &event);
    return done ? 0 : done.error();
  }
  /// The events that are there within the time.
  std::vector<epoll_event> wait(std::size_t room, int timeout_ms) {
    std::vector<epoll_event> events(room);
    const auto count = epoll->wait(events, timeout_ms);
    EXPECT_TRUE(count);
    events.resize(count ? static_cast<std::size_t>(*count) : 0);
    return events;
  }

  EpollPtr epoll;
};

TEST_F(EpollInstanceTest, TellsWhatIsTrueForAsLongAsItIs) {
  const UniqueFd fd = event_fd(1);
  ASSERT_EQ(control(EPOLL_CTL_ADD, fd.get(), EPOLLIN, 77), 0);
  for (int i = 0; i < 2; ++i) {
    const auto events = wait(4, kNoLimit);
    ASSERT_EQ(events.size(), 1U);
    EXPECT_EQ(events[0].events, std::uint32_t{EPOLLIN}) << "it is writable too, and nobody asked";
    EXPECT_EQ(+events[0].data.u64, 77U);
  }
  ASSERT_EQ(control(EPOLL_CTL_MOD, fd.get(), EPOLLOUT, 78), 0);
  const auto events = wait(4, kNoLimit);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].events, std::uint32_t{EPOLLOUT});
  EXPECT_EQ(+events[0].data.u64, 78U);
  ASSERT_EQ(control(EPOLL_CTL_DEL, fd.get()), 0);
  EXPECT_TRUE(wait(4, 0).empty());
  EXPECT_TRUE(wait(4, 20).empty());
}

TEST_F(EpollInstanceTest, RefusesAsEpollDoes) {
  const UniqueFd fd = event_fd();
  EXPECT_EQ(control(EPOLL_CTL_MOD, fd.get()), ENOENT);
  EXPECT_EQ(control(EPOLL_CTL_DEL, fd.get()), ENOENT);
  EXPECT_EQ(control(EPOLL_CTL_ADD, fd.get(), EPOLLIN), 0);
  EXPECT_EQ(control(EPOLL_CTL_ADD, fd.get(), EPOLLIN), EEXIST);
  EXPECT_EQ(control(EPOLL_CTL_ADD, epoll->fd(), EPOLLIN), EINVAL);
  EXPECT_EQ(control(EPOLL_CTL_ADD, -1, EPOLLIN), EBADF);
  EXPECT_EQ(control(EPOLL_CTL_ADD, 1 << 20, EPOLLIN), EBADF);
  EXPECT_EQ(control(99, fd.get()), EINVAL);
  EXPECT_EQ(epoll->control(EPOLL_CTL_MOD, fd.get(), nullptr).error(), EFAULT);
  EXPECT_EQ(EpollInstance::make(1 << 30).error(), EINVAL);
}

TEST_F(EpollInstanceTest, OneShotIsOneShot) {
  const UniqueFd fd = event_fd(1);
  ASSERT_EQ(control(EPOLL_CTL_ADD, fd.get(), EPOLLIN | EPOLLONESHOT), 0);
  EXPECT_EQ(wait(1, kNoLimit).size(), 1U);
  EXPECT_TRUE(wait(1, 0).empty());
  ASSERT_EQ(control(EPOLL_CTL_MOD, fd.get(), EPOLLIN | EPOLLONESHOT), 0);
  EXPECT_EQ(wait(1, kNoLimit).size(), 1U);
}

TEST_F(EpollInstanceTest, WithRoomForOneNoneStarves) {
  std::vector<UniqueFd> fds;
  for (std::uint64_t i = 0; i < 3; ++i) {
    fds.push_back(event_fd(1));
    ASSERT_EQ(control(EPOLL_CTL_ADD, fds.back().get(), EPOLLIN, i), 0);
  }
  std::multiset<std::uint64_t> seen;
  for (int i = 0; i < 6; ++i) seen.insert(+wait(1, kNoLimit).at(0).data.u64);
  for (std::uint64_t i = 0; i < 3; ++i) EXPECT_EQ(seen.count(i), 2U) << i;
}

TEST_F(EpollInstanceTest, WhatIsClosedIsForgotten) {
  UniqueFd fd = event_fd(1);
  const int number = fd.get();
  ASSERT_EQ(control(EPOLL_CTL_ADD, number, EPOLLIN), 0);
  fd.reset();
  EXPECT_TRUE(wait(1, 0).empty());
  const UniqueFd other = event_fd(1);
  ASSERT_EQ(other.get(), number);
  EXPECT_TRUE(wait(1, 0).empty()) << "the number alone is not the descriptor";
  ASSERT_EQ(control(EPOLL_CTL_ADD, number, EPOLLIN), 0);
  epoll->forget(number);
  EXPECT_TRUE(wait(1, 0).empty());
}

TEST_F(EpollInstanceTest, ASleeperHearsOfChanges) {
  const UniqueFd idle = event_fd(), late = event_fd(1);
  ASSERT_EQ(control(EPOLL_CTL_ADD, idle.get(), EPOLLIN), 0);
  std::thread sleeper([&] { EXPECT_EQ(+wait(1, kNoLimit).at(0).data.u64, 5U); });
  EXPECT_EQ(control(EPOLL_CTL_ADD, late.get(), EPOLLIN, 5), 0);
  sleeper.join();
}

TEST_F(EpollInstanceTest, CloseEndsAWait) {
  std::thread sleeper([&] {
    std::vector<epoll_event> events(1);
    EXPECT_EQ(epoll->wait(events, kNoLimit).error(), EBADF);
  });
  epoll->close();
  sleeper.join();
}

TEST_F(EpollInstanceTest, AreFoundByDescriptor) {
  enter_epoll(epoll);
  EXPECT_EQ(find_epoll(epoll->fd()), epoll);
  EXPECT_EQ(leave_epoll(epoll->fd()), epoll);
  EXPECT_EQ(find_epoll(epoll->fd()), nullptr);
  EXPECT_EQ(leave_epoll(epoll->fd()), nullptr);
}

}  // namespace
}  // namespace softrnic::rsocket
