// What the daemon and the kernel would let a test have of a share in its own process (samehost/introduction.h).
#pragma once

#include <unistd.h>

#include "samehost/direct_share.h"
#include "samehost/introduction.h"

namespace softrnic::samehost {

inline Introduction introduction_to(const DirectShare& share) {
  Introduction shown;
  shown.memory.reset(dup(share.fd()));
  shown.inbox.reset(dup(share.inbox_fd()));
  shown.pid = getpid();
  return shown;
}

}  // namespace softrnic::samehost
