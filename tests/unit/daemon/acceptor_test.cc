#include "daemon/acceptor.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <vector>

#include "base/clock.h"

namespace softrnic::daemon {
namespace {

/// No descriptor can be made while it lives.
class NoDescriptors {
 public:
  NoDescriptors() {
    EXPECT_EQ(getrlimit(RLIMIT_NOFILE, &before_), 0);
    const rlimit none{0, before_.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  }
  ~NoDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

class AcceptorTest : public ::testing::Test {
 protected:
  AcceptorTest() {
    EXPECT_EQ(loop_.open(), 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    socklen_t size = sizeof address;
    EXPECT_EQ(bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(sa_family_t)), 0);
    EXPECT_EQ(listen(listener_.get(), 10), 0);
    EXPECT_EQ(getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
    for (UniqueFd& client : clients_)
      EXPECT_EQ(connect(client.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  }
  static UniqueFd socket_of_kind() {
    return UniqueFd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  }
  void turn() { EXPECT_EQ(loop_.wait(TimePoint{}), 0); }

  EventLoop loop_;
  UniqueFd listener_ = socket_of_kind();
  UniqueFd clients_[3] = {socket_of_kind(), socket_of_kind(), socket_of_kind()};
  std::vector<UniqueFd> accepted_, turned_away_;
  Acceptor acceptor_{loop_, listener_.get(),
                     [this](UniqueFd connection) { accepted_.push_back(std::move(connection)); },
                     [this](UniqueFd connection) { turned_away_.push_back(std::move(connection)); }};
};

TEST_F(AcceptorTest, AcceptsAll) {
  ASSERT_TRUE(acceptor_.begin());
  for (int i = 0; i < 4; ++i) turn();
  EXPECT_EQ(accepted_.size(), 3U);
  EXPECT_EQ(acceptor_.deadline(), kNever);
}

TEST_F(AcceptorTest, PausesWhereThereIsNoRoom) {
  ASSERT_TRUE(acceptor_.begin());
  const TimePoint before = monotonic_now();
  {
    const NoDescriptors none;
    for (int i = 0; i < 5; ++i) turn();
  }
  ASSERT_NE(acceptor_.deadline(), kNever);
  EXPECT_GE(acceptor_.deadline(), before + Acceptor::kPause);
  turn();
  EXPECT_TRUE(accepted_.empty()) << "the pause is not over";
  acceptor_.advance(acceptor_.deadline() - Duration(1));
  turn();
  EXPECT_TRUE(accepted_.empty());
  acceptor_.advance(acceptor_.deadline());
  EXPECT_EQ(acceptor_.deadline(), kNever);
  for (int i = 0; i < 4; ++i) turn();
  EXPECT_EQ(accepted_.size(), 3U);
}

TEST_F(AcceptorTest, PausesAgainWhereItCannotBeWaitedFor) {
  ASSERT_TRUE(acceptor_.begin());
  {
    const NoDescriptors none;
    for (int i = 0; i < 5; ++i) turn();
  }
  const TimePoint due = acceptor_.deadline();
  listener_.reset();
  acceptor_.advance(due);
  EXPECT_EQ(acceptor_.deadline(), due + Acceptor::kPause);
}

TEST_F(AcceptorTest, WhoGetsNoDescriptorIsTurnedAway) {
  ASSERT_TRUE(acceptor_.begin());
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  std::vector<UniqueFd> all;
  const rlimit few{64, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  for (UniqueFd next(dup(listener_.get())); next; next.reset(dup(listener_.get())))
    all.push_back(std::move(next));
  turn();
  all.clear();
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_TRUE(accepted_.empty());
  EXPECT_EQ(turned_away_.size(), 1U);
}

}  // namespace
}  // namespace softrnic::daemon
