// The keeper: a small process that holds the lane sockets beside the daemon.
//
// The number of a socket in its SO_REUSEPORT group is its lane, and closing one moves another. Clients alone hold
// only their own lanes, so the death of the daemon would send their packets astray. The keeper holds them all, does
// nothing while the daemon lives, and ends once neither daemon nor any process with a lane is left. A new daemon gets
// everything from it and goes on where the old one was.
#pragma once

#include <cstdint>
#include <vector>

#include "base/expected.h"
#include "base/unique_fd.h"

namespace softrnic::daemon {

/// A lane as the keeper knows it.
struct KeptLane {
  UniqueFd socket;
  UniqueFd
      holder;  ///< pidfd of the process that holds it; none: the lane is free, or the holder cannot be watched
};

/// The daemon's end.
class Keeper {
 public:
  /// Forks the keeper; the caller must have one thread. A positive errno. EADDRINUSE: an older keeper lives, which
  /// inherit() reaches.
  static Expected<Keeper, int> start();
  /// Becomes the daemon of the keeper of a dead daemon, and takes over the lanes that it holds, in order. ECONNREFUSED:
  /// there is none.
  static Expected<Keeper, int> inherit(std::vector<KeptLane>& lanes);

  void lane_made(std::uint32_t lane, int socket) { tell(Op::made, lane, socket); }
  void lane_taken(std::uint32_t lane, int pidfd) { tell(Op::taken, lane, pidfd); }
  void lane_freed(std::uint32_t lane) { tell(Op::freed, lane, -1); }

  enum class Op : std::uint32_t { made = 1, taken, freed, take_over, end };

 private:
  void tell(Op op, std::uint32_t lane, int fd);
  UniqueFd channel_;
};

}  // namespace softrnic::daemon
