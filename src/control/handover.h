// How a program whose daemon has ended gives its lanes to the next one.
//
// The daemon holds every lane's socket, and its keeper holds them when it dies. Where both die at once (a
// container, a job, a cgroup that is killed) only the programs have them. So each program listens, under a
// name of its first lane, from before it uses a lane; once its daemon has ended it answers there, to
// processes of its user alone. It sends a HandedLane with the socket for each of its lanes and keeps the
// connection as long as it has them: its end tells the daemon that they are free.
#pragma once

#include <cstdint>

#include "control/channel.h"

namespace softrnic::control {

struct HandedLane {
  static constexpr std::uint32_t kMagic = 0x6e61'6c68;  ///< "hlan"
  std::uint32_t magic = kMagic;
  std::uint32_t lane = 0;
  std::uint32_t left = 0;  ///< how many more follow
};

/// "@softrnicd/<uid>/lane/<N>".
AbstractName lane_name(std::uint32_t lane);

}  // namespace softrnic::control
