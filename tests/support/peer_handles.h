// What the daemon and the kernel would let a test have of a share in its own process
// (samehost/peer_handles.h).
#pragma once

#include <unistd.h>

#include "samehost/direct_share.h"
#include "samehost/peer_handles.h"

namespace softrnic::samehost {

inline PeerHandles handles_of(const DirectShare& share) {
  PeerHandles shown;
  shown.memory.reset(dup(share.fd()));
  shown.inbox.reset(dup(share.inbox_fd()));
  shown.pid = getpid();
  return shown;
}

}  // namespace softrnic::samehost
