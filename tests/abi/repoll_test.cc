// repoll, rpoll and rselect: waiting for several.
#include <sys/eventfd.h>
#include <unistd.h>

#include <thread>

#include "tests/abi/later_calls.h"
#include "tests/abi/rsocket_fixture.h"

namespace softrnic::abi_test {
namespace {

class Repoll : public DatagramRsocketTest {
 protected:
  int add(int fd, std::uint32_t events) {
    epoll_event event{};
    event.events = events;
    event.data.fd = fd;
    return later::repoll_ctl(epoll.fd(), EPOLL_CTL_ADD, fd, &event);
  }
  /// The descriptor of the one event that comes within the time; -1: none.
  int wait(int timeout_ms, std::uint32_t expected = EPOLLIN) {
    epoll_event events[4];
    const int count = later::repoll_wait(epoll.fd(), events, 4, timeout_ms);
    EXPECT_LE(count, 1);
    if (count != 1) return -1;
    EXPECT_EQ(events[0].events, expected);
    return events[0].data.fd;
  }

  Rsocket epoll{later::repoll_create(EPOLL_CLOEXEC)};
};

TEST_F(Repoll, WaitsForStreamsDatagramsAndOthers) {
  pair();
  Rsocket listening(AF_INET, SOCK_STREAM);
  ASSERT_EQ(listening.bind("127.0.0.1"), 0);
  ASSERT_EQ(rlisten(listening.fd(), 1), 0);
  const int plain = eventfd(0, 0);
  for (const int fd : {receiver->fd(), listening.fd(), plain})
    ASSERT_EQ(add(fd, EPOLLIN), 0) << std::strerror(errno);
  EXPECT_EQ(wait(0), -1);
  for (int i = 0; i < 5; ++i) {
    std::thread later_sender([&] { EXPECT_EQ(sender->send("x"), 1); });
    EXPECT_EQ(wait(kPatienceMs), receiver->fd());
    later_sender.join();
    EXPECT_EQ(receiver->receive(), "x");
    EXPECT_EQ(wait(0), -1);
  }
  EXPECT_EQ(eventfd_write(plain, 1), 0);
  EXPECT_EQ(wait(kPatienceMs), plain);
  close(plain);
  Rsocket stream(AF_INET, SOCK_STREAM);
  std::thread connecting([&] { EXPECT_EQ(stream.connect(listening.name()), 0) << std::strerror(errno); });
  EXPECT_EQ(wait(kPatienceMs), listening.fd());
  Rsocket accepted(raccept(listening.fd(), nullptr, nullptr));
  connecting.join();
  ASSERT_EQ(add(accepted.fd(), EPOLLIN), 0);
  EXPECT_EQ(wait(0), -1);
  ASSERT_EQ(stream.send("y"), 1);
  EXPECT_EQ(wait(kPatienceMs), accepted.fd());
  stream.close();
  char byte = 0;
  EXPECT_EQ(rrecv(accepted.fd(), &byte, 1, 0), 1);
  EXPECT_EQ(wait(kPatienceMs, EPOLLIN | EPOLLHUP), accepted.fd()) << "the peer has closed";
  const int closed = accepted.fd();
  accepted.close();
  EXPECT_EQ(wait(0), -1);
  EXPECT_REFUSED(later::repoll_ctl(epoll.fd(), EPOLL_CTL_DEL, closed, nullptr), EBADF);
}

TEST_F(Repoll, SelectAndPollKnowDatagramsToo) {
  pair();
  ASSERT_EQ(sender->send("x"), 1);
  fd_set reads, writes;
  FD_ZERO(&reads);
  FD_ZERO(&writes);
  FD_SET(receiver->fd(), &reads);
  EXPECT_EQ(rselect(receiver->fd() + 1, &reads, nullptr, nullptr, nullptr), 1);
  EXPECT_TRUE(FD_ISSET(receiver->fd(), &reads));
  FD_SET(receiver->fd(), &writes);
  EXPECT_EQ(rselect(receiver->fd() + 1, &reads, &writes, nullptr, nullptr), 2);
  EXPECT_EQ(receiver->receive(), "x");
  pollfd waiting{receiver->fd(), POLLIN, 0};
  EXPECT_EQ(rpoll(&waiting, 1, 10), 0);
}

}  // namespace
}  // namespace softrnic::abi_test
