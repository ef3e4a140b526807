#include "rsocket/socket_options.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <rdma/rsocket.h>

namespace {

int last_option_of_id = -1;

}  // namespace

/// In the place of librdmacm's.
extern "C" int rdma_set_option(rdma_cm_id*, int level, int name, void*, std::size_t) {
  last_option_of_id = level == RDMA_OPTION_ID ? name : -1;
  return 0;
}

namespace softrnic::rsocket {
namespace {

class SocketOptionsTest : public testing::Test {
 protected:
  int set(int level, int name, int value) {
    const auto done = options.set(stage, level, name, &value, sizeof value);
    return done ? 0 : done.error();
  }
  int get(int level, int name) {
    int value = -1;
    socklen_t length = sizeof value;
    const auto done = options.get(stage, level, name, &value, &length);
    return done ? value : -done.error();
  }

  SocketOptions options{Sizes{}};
  SocketOptions::Stage stage;
};

TEST_F(SocketOptionsTest, WhatWasSetIsGiven) {
  EXPECT_EQ(set(SOL_SOCKET, SO_KEEPALIVE, 1), 0);
  EXPECT_EQ(get(SOL_SOCKET, SO_KEEPALIVE), 1);
  EXPECT_EQ(get(SOL_SOCKET, SO_OOBINLINE), 0);
  EXPECT_EQ(set(IPPROTO_TCP, TCP_NODELAY, 5), 0);
  EXPECT_EQ(get(IPPROTO_TCP, TCP_NODELAY), 1);
  EXPECT_EQ(set(IPPROTO_TCP, TCP_KEEPIDLE, 60), 0);
  EXPECT_EQ(get(IPPROTO_TCP, TCP_KEEPIDLE), 60);
  EXPECT_EQ(set(IPPROTO_TCP, TCP_KEEPIDLE, 0), EINVAL);
  EXPECT_EQ(set(SOL_SOCKET, SO_BROADCAST, 1), ENOTSUP);
  EXPECT_EQ(get(IPPROTO_TCP, TCP_CORK), -ENOTSUP);
  EXPECT_EQ(get(SOL_SOCKET, SO_ERROR), 0);
  stage.error = ECONNREFUSED;
  EXPECT_EQ(get(SOL_SOCKET, SO_ERROR), ECONNREFUSED);
  EXPECT_EQ(options.set(stage, SOL_SOCKET, SO_KEEPALIVE, nullptr, 4).error(), EFAULT);
  const short shorter = 1;
  EXPECT_EQ(options.set(stage, SOL_SOCKET, SO_KEEPALIVE, &shorter, sizeof shorter).error(), EINVAL);
}

// As the kernel doubles them for TCP; and no more when the buffers are there.
TEST_F(SocketOptionsTest, BuffersAreSetBeforeTheyAreMade) {
  EXPECT_EQ(set(SOL_SOCKET, SO_RCVBUF, 50'000), 0);
  EXPECT_EQ(get(SOL_SOCKET, SO_RCVBUF), 100'000);
  EXPECT_EQ(set(SOL_SOCKET, SO_SNDBUF, 1), 0);
  EXPECT_EQ(get(SOL_SOCKET, SO_SNDBUF), static_cast<int>(2 * kLeastSendRoom));
  stage.made = true;
  EXPECT_EQ(set(SOL_SOCKET, SO_RCVBUF, 70'000), 0);
  EXPECT_EQ(get(SOL_SOCKET, SO_RCVBUF), 100'000);
}

TEST_F(SocketOptionsTest, QueuesAreSetBeforeTheConnectionBegins) {
  EXPECT_EQ(set(SOL_RDMA, RDMA_SQSIZE, 100), 0);
  EXPECT_EQ(get(SOL_RDMA, RDMA_SQSIZE), 100);
  EXPECT_EQ(set(SOL_RDMA, RDMA_RQSIZE, 1 << 20), 0);
  EXPECT_EQ(get(SOL_RDMA, RDMA_RQSIZE), kMostQueue);
  EXPECT_EQ(get(SOL_RDMA, RDMA_ROUTE), -EINVAL) << "there is none";
  stage.opening = true;
  EXPECT_EQ(set(SOL_RDMA, RDMA_SQSIZE, 200), EINVAL);
  EXPECT_EQ(options.sizes().send_queue, 100);
}

TEST_F(SocketOptionsTest, SomeAreOptionsOfTheId) {
  last_option_of_id = -1;
  EXPECT_EQ(set(IPPROTO_IP, IP_TOS, 8), 0);
  EXPECT_EQ(last_option_of_id, RDMA_OPTION_ID_TOS);
  EXPECT_EQ(get(IPPROTO_IP, IP_TOS), 8);
  EXPECT_EQ(set(SOL_SOCKET, SO_REUSEADDR, 1), 0);
  EXPECT_EQ(last_option_of_id, RDMA_OPTION_ID_REUSEADDR);
  last_option_of_id = -1;
  stage.named = true;
  EXPECT_EQ(set(SOL_SOCKET, SO_REUSEADDR, 1), 0) << "too late, and no program looks for that";
  EXPECT_EQ(last_option_of_id, -1);
}

TEST_F(SocketOptionsTest, FlagsGoOnToThoseThatAreAccepted) {
  options.set_flags(SOCK_NONBLOCK | SOCK_CLOEXEC);
  SocketOptions accepted(options.sizes());
  EXPECT_FALSE(accepted.nonblocking());
  accepted.inherit_flags(options);
  EXPECT_TRUE(accepted.nonblocking());
  EXPECT_EQ(*accepted.control(F_GETFD, 0), FD_CLOEXEC);
  EXPECT_EQ(*accepted.control(F_SETFL, O_APPEND), 0);
  EXPECT_EQ(*accepted.control(F_GETFL, 0), O_RDWR);
  EXPECT_EQ(accepted.control(F_DUPFD, 0).error(), ENOTSUP);
}

}  // namespace
}  // namespace softrnic::rsocket
