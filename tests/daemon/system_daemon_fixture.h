// softrnicd --system and programs of several users. As root, who can become all of them.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "control/cm_client.h"
#include "tests/daemon/daemon_fixture.h"

namespace softrnic::tests {

constexpr uid_t kVictim = 1001, kAttacker = 1002;
constexpr int kNoUser = 98;  ///< of a child that could not become somebody

/// For connections to the daemon of all users alone.
extern const control::ConnectOptions kOfAll;

bool become(uid_t user);
/// What `body` returns as that user.
int as_user(uid_t user, const std::function<int()>& body);

ino_t inode_of(const UniqueFd& fd);
bool refused_with(int error, const control::Error& got);
/// Sets an option of a socket to 0.
bool sets_to_zero(const UniqueFd& socket, int option);

/// A program with all that the daemon has to give.
class Program {
 public:
  Program();
  bool complete() const { return lane.socket && page_ && channel != 0 && id != 0; }
  control::Client& client() { return *client_; }
  control::CmClient& cm() { return cm_; }
  UniqueFd locks();

  control::LaneGrant lane;
  std::uint32_t channel = 0;
  control::CmNumber id = 0;

 private:
  std::unique_ptr<control::Client> client_;
  control::CmClient cm_;
  UniqueFd page_;
  rnic::EventCount events_;
};

class SystemDaemonTest : public DaemonTest {
 protected:
  void SetUp() override;
  void TearDown() override;

  /// Returns when it listens, or has ended.
  void start(const std::vector<std::string>& options);
  /// The same as that user, with a socket that root opened.
  void start_as_unit(uid_t user);
  void stop(int signal = SIGTERM);

 private:
  void wait_for_daemon();
  pid_t daemon_ = -1;
};

}  // namespace softrnic::tests
