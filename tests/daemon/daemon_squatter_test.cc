// Somebody else holds a name that the daemon, its starters or its keeper use.
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <string>

#include "base/reason_id.h"
#include "control/channel.h"
#include "tests/daemon/daemon_fixture.h"
#include "tests/support/namespaces.h"

namespace softrnic::tests {
namespace {

using Clock = std::chrono::steady_clock;

/// What the squatter does with the name. `mute` does not listen, `full` lets nobody in.
enum class Manner : std::uint8_t { mute, listening, full };

/// Holds a name as another user, for every type of socket, and looks at what it is given. Only root can play
/// it.
class Squatter {
 public:
  Squatter(const char* suffix, Manner manner) : name_(control::daemon_name(0, suffix)) {
    // sockets have the user and the credentials of the moment when they were made and began to listen
    if (seteuid(kNobody) != 0) return;
    letters_ = bound(SOCK_DGRAM);
    calls_ = bound(SOCK_SEQPACKET);
    if (manner != Manner::mute && listen(calls_.get(), manner == Manner::full ? 0 : 8) != 0) calls_.reset();
    while (manner == Manner::full) {
      UniqueFd crowd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0));
      if (connect(crowd.get(), name_.get(), name_.length) != 0) break;
      crowd_.push_back(std::move(crowd));
    }
    if (seteuid(0) != 0) calls_.reset();
  }

  bool ready() const { return letters_ && calls_; }

  /// Whether a datagram or a descriptor has come.
  bool was_given_something() const {
    if (received_from(letters_.get())) return true;
    for (;;) {
      const UniqueFd call(accept4(calls_.get(), nullptr, nullptr, SOCK_NONBLOCK));
      if (!call) return false;
      if (received_from(call.get())) return true;
    }
  }

 private:
  UniqueFd bound(int type) const {
    UniqueFd fd(socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (bind(fd.get(), name_.get(), name_.length) != 0) fd.reset();
    return fd;
  }
  static bool received_from(int fd) {
    std::array<std::byte, 1024> bytes;
    control::Datagram datagram;
    return control::receive_datagram(fd, bytes, datagram, MSG_DONTWAIT) == 0 &&
           (datagram.size > 0 || datagram.fd_count > 0);
  }

  control::AbstractName name_;
  UniqueFd letters_, calls_;
  std::vector<UniqueFd> crowd_;
};

class SquatterTest : public DaemonTest {
 protected:
  void SetUp() override {
    if (geteuid() != 0 || !test::has_all_users()) GTEST_SKIP() << "needs two users";
    DaemonTest::SetUp();
  }
};

TEST_F(SquatterTest, GetsNothingAndIsNamedAtOnce) {
  for (const char* suffix : {"", "/starting", "/keeper"}) {
    for (const Manner manner : {Manner::mute, Manner::listening, Manner::full}) {
      SetUp();  // another namespace, as a daemon that could not start is still about to end
      const std::string what =
          std::string("'") + suffix + "' manner " + std::to_string(static_cast<int>(manner));
      const Squatter squatter(suffix, manner);
      ASSERT_TRUE(squatter.ready()) << what;
      const auto before = Clock::now();
      const control::Error error = connect_error();
      EXPECT_LT(Clock::now() - before, control::kAnswerTimeout / 2)
          << what << ": nobody's answer is waited for";
      EXPECT_EQ(error.failure.reason.id, ReasonId::daemon_name_taken) << what << ": " << error.text;
      EXPECT_EQ(error.failure.reason.figures[0], kNobody) << what;
      EXPECT_EQ(error.failure.reason.figures[1], static_cast<std::uint64_t>(getpid())) << what;
      EXPECT_NE(error.text.find("daemon_integrat"), std::string::npos) << what << ": " << error.text;
      EXPECT_FALSE(squatter.was_given_something()) << what;
    }
  }
  EXPECT_NE(connect(), nullptr) << "the names are free again";
}

}  // namespace
}  // namespace softrnic::tests
