// How a lane gets at what another lane of its host shares: the daemon says where it is, the kernel whether it
// may be taken.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

#include "base/unique_fd.h"
#include "control/client.h"
#include "control/page_layout.h"

namespace softrnic::samehost {

struct PeerHandles {
  UniqueFd memory;    ///< DirectMemory of direct_layout.h; none: packets
  UniqueFd inbox;     ///< InboxMemory; there with `memory`
  UniqueFd doorbell;  ///< wakes the lane's holder; there with `memory`
  pid_t pid = 0;      ///< of the holder
  /// The kernel has agreed that this process attaches to that one. Else it has to be tried before anything
  /// there is used.
  bool attached = false;
  control::PathChoice without = control::PathChoice::not_shared;  ///< memory, or what can be used of it: why
};

/// May wait for the daemon. Says why nothing was to be had. Nothing: the daemon does not answer, and is to be
/// asked again.
std::optional<PeerHandles> resolve_peer(control::Client& daemon, std::uint8_t lane);

}  // namespace softrnic::samehost
