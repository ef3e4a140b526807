// The keeper: a small process that holds the lane sockets beside the daemon.
//
// The place of a socket in its SO_REUSEPORT group stands for its lane, and closing one moves another. Clients
// alone hold only their own lanes, so the death of the daemon would send their packets astray. The keeper
// holds them all, does nothing while the daemon lives, and ends once neither daemon nor any process with a
// lane is left. A new daemon gets everything from it and goes on where the old one was.
#pragma once

#include <cstdint>
#include <vector>

#include "base/expected.h"
#include "base/reason.h"
#include "base/unique_fd.h"
#include "daemon/steering.h"

namespace softrnic::daemon {

inline constexpr std::uint32_t kNoLane = ~0U;  ///< of a socket that is kept for its place alone

/// A lane as the keeper knows it.
struct KeptLane {
  std::uint32_t lane = 0;          ///< or kNoLane
  std::uint32_t place = kNoPlace;  ///< of the socket in its group
  UniqueFd socket;                 ///< none: no lane of that number was made
  /// Becomes readable when the process that holds the lane ends: a pidfd, or a connection to it. None: the
  /// lane is free, or the holder cannot be watched.
  UniqueFd holder;
};

/// The daemon's end.
class Keeper {
 public:
  /// Forks the keeper; the caller must have one thread. Returns when the keeper holds nothing of the caller's
  /// any more, so that what the caller closes later is closed. It keeps nothing for a next daemon before
  /// told_all(). EADDRINUSE: its name is held, by an older keeper, which inherit() reaches, or by somebody
  /// else, whom the reason names.
  static Expected<Keeper, Failure> start();
  /// Becomes the daemon of the keeper of a dead daemon, and takes over the lanes that it holds. ECONNREFUSED:
  /// there is none.
  static Expected<Keeper, Failure> inherit(std::vector<KeptLane>& lanes);

  void lane_made(std::uint32_t lane, std::uint32_t place, int socket) { tell(Op::made, lane, place, socket); }
  /// The socket at that place is no lane's any more, but keeps the place.
  void lane_retired(std::uint32_t place, int socket) { tell(Op::made, kNoLane, place, socket); }
  void lane_taken(std::uint32_t lane, int holder) { tell(Op::taken, lane, kNoPlace, holder); }
  void lane_freed(std::uint32_t lane) { tell(Op::freed, lane, kNoPlace, -1); }
  void told_all() { tell(Op::end, 0, kNoPlace, -1); }

  /// Readable when the keeper has gone.
  int gone_fd() const { return channel_.get(); }

  enum class Op : std::uint32_t { made = 1, taken, freed, take_over, end, ready };

 private:
  void tell(Op op, std::uint32_t lane, std::uint32_t place, int fd);
  UniqueFd channel_;
};

}  // namespace softrnic::daemon
