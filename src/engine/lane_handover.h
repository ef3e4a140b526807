// The lanes of this process for a daemon that comes after its own (control/handover.h).
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "base/unique_fd.h"
#include "control/client.h"

namespace softrnic::engine {

class LaneHandover {
 public:
  /// Thread-safe. `socket`: a duplicate of the lane's; none: there is no descriptor for it. A lane that
  /// cannot be handed over, for that or because its name is held by somebody else, is only missed when
  /// daemon and keeper die at once.
  void add(std::uint8_t lane, UniqueFd socket);
  /// What daemon_returns() and serve() look at: readable when a daemon asks for the lanes; -1: there are
  /// none.
  int listener();
  /// Answers the daemon that asks. Only after the end of this process's own.
  void answer();
  /// Answers daemons until `stop_fd` is readable.
  void serve(int stop_fd);
  /// The process is a client of the daemon that has taken the lanes over, and holds them as such from then
  /// on. False: the daemon does not know one of them.
  bool reclaim(control::Client& daemon);
  /// In a forked child, which must hold neither lanes nor names of its parent.
  void abandon();

 private:
  struct Kept {
    std::uint8_t lane = 0;
    UniqueFd socket;
  };

  std::mutex mutex_;
  UniqueFd listener_;
  std::vector<Kept> lanes_;
  std::vector<UniqueFd> heirs_;  ///< who got them; while these are open, the lanes are in use
};

}  // namespace softrnic::engine
