// A network namespace of its own for each test, with softrnicd of the build tree in it.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/types.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "control/client.h"

namespace softrnic::tests {

constexpr uid_t kNobody = 65534;

/// Runs a shell command. True when it succeeded.
bool shell(const std::string& command);

/// The IPv4 loopback address and a port, as rdma_cm takes them.
sockaddr_storage loopback(std::uint16_t port);

/// A process that runs a function and then waits to be told to go on, or to be killed.
class Child {
 public:
  /// Returns when `body` has; its result is told by result(). The child exits when this object is destroyed.
  explicit Child(const std::function<int()>& body);
  ~Child();
  Child(Child&&) = default;
  Child& operator=(Child&&) = delete;

  int result() const { return result_; }
  pid_t pid() const { return pid_; }
  void kill();

 private:
  pid_t pid_ = -1;
  int result_ = -1;
  UniqueFd go_;
};

/// A control page that the daemon takes; none when it could not be made.
UniqueFd make_page();

/// The process is gone within ten seconds.
bool wait_gone(pid_t pid);

class DaemonTest : public testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  static std::unique_ptr<control::Client> connect();
  /// Why a connection cannot be had; fails the test when it can.
  static control::Error connect_error();
  /// Asks for the status until it fits or ten seconds have gone.
  static bool wait_status(control::Client& client,
                          const std::function<bool(const control::StatusReply&)>& fits);
  /// The next notification of a client, within ten seconds.
  static std::optional<control::Notification> next_notification(control::Client& client);
};

}  // namespace softrnic::tests
