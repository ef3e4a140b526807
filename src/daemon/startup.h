// How a daemon comes to be the one that listens, however many are started at once.
#pragma once

#include "base/expected.h"
#include "base/reason.h"
#include "base/unique_fd.h"

namespace softrnic::daemon {

/// Reports to everybody who waits for this start: the starter's pipe, and the processes that came second.
class Startup {
 public:
  enum class Role : std::uint8_t {
    winner,  ///< this process shall become the daemon
    second,  ///< another one listens; the starter was told
  };

  /// `report_fd`: the pipe of the starter, or -1.
  explicit Startup(int report_fd) : report_(report_fd) {}

  /// Settles the role. The winner keeps the lock until ready() or failed(); who comes second
  /// waits for that, and shares the winner's failure. Nothing is said to a process of another
  /// user that holds one of the names.
  Expected<Role, Failure> begin();
  /// Binds the daemon's name and listens. Everything must be ready to serve.
  Expected<UniqueFd, Failure> listen();
  void ready() { report(Failure{}); }
  void failed(const Failure& failure) { report(failure); }

 private:
  void report(const Failure& failure);
  UniqueFd report_;
  UniqueFd lock_;  ///< listens; who connects waits for the report
};

}  // namespace softrnic::daemon
