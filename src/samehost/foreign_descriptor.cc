#include "samehost/foreign_descriptor.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

namespace softrnic::samehost {
namespace {

/// Nothing and errno: the kernel does not let this process at it, or has no such call.
UniqueFd fetch(pid_t owner, int number) {
  if (owner == getpid()) return UniqueFd(fcntl(number, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  const UniqueFd process(static_cast<int>(syscall(SYS_pidfd_open, owner, 0)));
  return process ? UniqueFd(above_stdio(static_cast<int>(syscall(SYS_pidfd_getfd, process.get(), number, 0))))
                 : UniqueFd();
}

/// First only to look at, as opening some other file may have effects.
UniqueFd open_anew(pid_t owner, const DescriptorName& name) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/fd/%d", owner, name.number);
  const UniqueFd look(above_stdio(open(path, O_PATH | O_CLOEXEC)));
  if (!look) return UniqueFd();
  errno = EBADF;
  if (!name.names(look.get())) return UniqueFd();
  std::snprintf(path, sizeof path, "/proc/self/fd/%d", look.get());
  return UniqueFd(above_stdio(open(path, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)));
}

}  // namespace

Expected<ForeignDescriptor, int> take_descriptor(pid_t owner, const DescriptorName& name) {
  if (owner <= 0) return Unexpected{ESRCH};
  if (name.number < 0) return Unexpected{EBADF};
  ForeignDescriptor taken{fetch(owner, name.number), true};
  if (!taken.fd) {
    const int error = errno;
    taken = {open_anew(owner, name), false};
    if (!taken.fd) return Unexpected{error == ENOSYS ? errno : error};
  }
  if (!name.names(taken.fd.get())) return Unexpected{EBADF};
  return taken;
}

}  // namespace softrnic::samehost
