// Datagram rsockets: what the calls answer.
#include <fcntl.h>

#include <thread>

#include "tests/abi/rsocket_fixture.h"

namespace softrnic::abi_test {
namespace {

using DatagramRsockets = DatagramRsocketTest;

constexpr std::size_t kMost4 = 2048 - 16;  // bytes of a datagram, on IPv4

TEST_F(DatagramRsockets, ExchangeDatagrams) {
  for (const char* const text : {"127.0.0.1", "::1"}) {
    pair(text);
    for (int i = 0; i < 100; ++i) {  // the first by UDP, the others by UD
      const std::string question = "question " + std::to_string(i), answer = "answer " + std::to_string(i);
      ASSERT_EQ(sender->send(question), static_cast<ssize_t>(question.size())) << std::strerror(errno);
      sockaddr_storage from{};
      ASSERT_EQ(receiver->receive(&from), question);
      const sockaddr_storage expected = sender->name();
      EXPECT_EQ(std::memcmp(&from, &expected, size_of(expected)), 0);
      ASSERT_EQ(receiver->send_to(answer, from), static_cast<ssize_t>(answer.size()));
      ASSERT_EQ(sender->receive(), answer);
    }
    sockaddr_storage peer{};
    socklen_t length = sizeof peer;
    EXPECT_EQ(rgetpeername(sender->fd(), generic(peer), &length), 0);
    const sockaddr_storage expected = receiver->name();
    EXPECT_EQ(std::memcmp(&peer, &expected, size_of(expected)), 0);
  }
}

TEST_F(DatagramRsockets, KeepTheBoundariesOfDatagrams) {
  pair();
  for (int way = 0; way < 3; ++way) {
    const std::string longest(kMost4, 'l');
    ASSERT_EQ(sender->send(longest), static_cast<ssize_t>(kMost4));
    EXPECT_EQ(receiver->receive(), longest);
    ASSERT_EQ(sender->send(""), 0);
    EXPECT_EQ(receiver->receive(), "");
    ASSERT_EQ(sender->send("first"), 5);
    ASSERT_EQ(sender->send("second"), 6);
    EXPECT_EQ(receiver->receive(nullptr, MSG_PEEK), "first");
    char bytes[3];
    iovec part{bytes, sizeof bytes};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    EXPECT_EQ(rrecvmsg(receiver->fd(), &message, 0), 3);
    EXPECT_NE(message.msg_flags & MSG_TRUNC, 0) << "what did not fit is lost";
    EXPECT_EQ(receiver->receive(), "second");
    EXPECT_TRUE(receiver->quiet());
  }
  EXPECT_REFUSED(sender->send(std::string(kMost4 + 1, 'x')), EMSGSIZE);
  iovec parts[]{{const_cast<char*>("ab"), 2}, {nullptr, 0}, {const_cast<char*>("cde"), 3}};
  ASSERT_EQ(rwritev(sender->fd(), parts, 3), 5);
  EXPECT_EQ(receiver->receive(), "abcde");
}

TEST_F(DatagramRsockets, RefuseAsTheirManualPagesSay) {
  EXPECT_REFUSED(rsocket(AF_INET, SOCK_DGRAM, IPPROTO_TCP), ENOTSUP);
  Rsocket lonely(AF_INET, SOCK_DGRAM);
  char byte = 0;
  EXPECT_REFUSED(rrecv(lonely.fd(), &byte, 1, 0), EINVAL);
  EXPECT_REFUSED(lonely.send("x"), EDESTADDRREQ);
  EXPECT_REFUSED(rlisten(lonely.fd(), 1), EOPNOTSUPP);
  EXPECT_REFUSED(raccept(lonely.fd(), nullptr, nullptr), EOPNOTSUPP);
  EXPECT_REFUSED(riomap(lonely.fd(), &byte, 1, 0, 0, 0), EOPNOTSUPP);
  EXPECT_REFUSED(rshutdown(lonely.fd(), SHUT_RDWR), ENOTCONN);
  sockaddr_storage peer{};
  socklen_t length = sizeof peer;
  EXPECT_REFUSED(rgetpeername(lonely.fd(), generic(peer), &length), ENOTCONN);
  EXPECT_REFUSED(lonely.send_to("x", address_of("::1", htons(9))), EAFNOSUPPORT);
  ASSERT_EQ(lonely.bind("127.0.0.1"), 0);
  EXPECT_TRUE(lonely.quiet());
  EXPECT_EQ(rfcntl(lonely.fd(), F_SETFL, O_NONBLOCK), 0);
  EXPECT_REFUSED(rrecv(lonely.fd(), &byte, 1, 0), EAGAIN);
  Rsocket second(AF_INET, SOCK_DGRAM);
  sockaddr_storage taken = lonely.name();
  EXPECT_REFUSED(rbind(second.fd(), generic(taken), size_of(taken)), EADDRINUSE);
}

TEST_F(DatagramRsockets, HaveOptions) {
  Rsocket one(AF_INET, SOCK_DGRAM);
  const auto option = [&](int level, int name) {
    int value = -1;
    socklen_t length = sizeof value;
    EXPECT_EQ(rgetsockopt(one.fd(), level, name, &value, &length), 0) << std::strerror(errno);
    return value;
  };
  int value = 1;
  EXPECT_EQ(rsetsockopt(one.fd(), SOL_SOCKET, SO_REUSEADDR, &value, sizeof value), 0);
  EXPECT_EQ(option(SOL_SOCKET, SO_REUSEADDR), 1);
  EXPECT_EQ(option(SOL_SOCKET, SO_TYPE), SOCK_DGRAM);
  EXPECT_EQ(option(SOL_SOCKET, SO_ERROR), 0);
  value = 32 * 1024;
  EXPECT_EQ(rsetsockopt(one.fd(), SOL_SOCKET, SO_RCVBUF, &value, sizeof value), 0);
  EXPECT_EQ(option(SOL_SOCKET, SO_RCVBUF), 64 * 1024);
  value = 500;
  EXPECT_EQ(rsetsockopt(one.fd(), SOL_RDMA, RDMA_RQSIZE, &value, sizeof value), 0);
  ASSERT_EQ(one.bind("127.0.0.1"), 0);
  ASSERT_EQ(one.connect(one.name()), 0) << std::strerror(errno);
  EXPECT_EQ(option(SOL_RDMA, RDMA_RQSIZE), 32) << "a datagram takes 2048 bytes of the buffer";
  EXPECT_REFUSED(rsetsockopt(one.fd(), SOL_RDMA, RDMA_RQSIZE, &value, sizeof value), EINVAL);
  EXPECT_REFUSED(rsetsockopt(one.fd(), SOL_SOCKET, 9999, &value, sizeof value), ENOPROTOOPT);
  ASSERT_EQ(one.send("to itself"), 9);
  EXPECT_EQ(one.receive(), "to itself");
}

TEST_F(DatagramRsockets, HearOfTheirPeerOnly) {
  pair();
  Rsocket stranger(AF_INET, SOCK_DGRAM);
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(sender->send("hello"), 5);
    EXPECT_EQ(receiver->receive(), "hello");
    ASSERT_EQ(stranger.send_to("psst", sender->name()), 4);
    EXPECT_TRUE(sender->quiet());
  }
  sockaddr_storage none{};
  none.ss_family = AF_UNSPEC;
  ASSERT_EQ(rconnect(sender->fd(), generic(none), sizeof(sockaddr_in)), 0);
  EXPECT_REFUSED(sender->send("to whom"), EDESTADDRREQ);
  ASSERT_EQ(stranger.send_to("psst", sender->name()), 4) << "it has its port still";
  EXPECT_EQ(sender->receive(), "psst");
  sockaddr_storage from{};
  ASSERT_EQ(sender->send_to("again", receiver->name()), 5);
  EXPECT_EQ(receiver->receive(&from), "again");
  const sockaddr_storage name = sender->name();
  EXPECT_EQ(reinterpret_cast<const sockaddr_in&>(from).sin_port,
            reinterpret_cast<const sockaddr_in&>(name).sin_port);
}

TEST_F(DatagramRsockets, EndSleepersOfOtherThreads) {
  pair();
  ASSERT_EQ(sender->send("x"), 1);
  EXPECT_EQ(receiver->receive(), "x");
  std::thread sleeper([&] {
    char byte = 0;
    const ssize_t size = rrecv(sender->fd(), &byte, 1, 0);
    EXPECT_TRUE(size == 0 || errno == EBADF) << size << std::strerror(errno);
  });
  EXPECT_EQ(rshutdown(sender->fd(), SHUT_RD), 0);
  sleeper.join();
  EXPECT_EQ(rshutdown(sender->fd(), SHUT_WR), 0);
  EXPECT_REFUSED(sender->send("x"), EPIPE);
}

}  // namespace
}  // namespace softrnic::abi_test
