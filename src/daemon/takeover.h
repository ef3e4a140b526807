// Lanes of programs that have outlived their daemon and its keeper.
#pragma once

#include <vector>

#include "base/expected.h"
#include "base/reason.h"
#include "daemon/keeper.h"

namespace softrnic::daemon {

/// Makes a socket for lane 0 and collects those of all survivors, with the places that they have
/// in the group. Fails, with who holds the port, when a socket on it is none of theirs, or a
/// survivor does not answer.
Expected<std::vector<KeptLane>, Failure> take_over_survivors();

}  // namespace softrnic::daemon
