/// How a process that is to live longer than what started it leaves that behind.
#pragma once

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace softrnic::control {

/// For what runs in a new process that shares the memory of the program: its frames never return, and a
/// sanitizer would remember them in this one.
#define SOFTRNIC_NEW_PROCESS __attribute__((no_sanitize("address", "thread", "undefined")))

/// Lets the calling process, which must not lead a session, outlive the terminal that it was started in, and
/// signals sent to the process group of its starter. Uses one descriptor for a moment, and calls the
/// kernel directly.
///
/// A session of its own (setsid(2)) would do the same, but Linux shares out the processor by sessions where
/// autogroups are on (sched(7)), and 6.18 lets the one process of a session wait for up to a minute while
/// others are busy.
inline SOFTRNIC_NEW_PROCESS void leave_terminal() {
  syscall(SYS_setpgid, 0, 0);
  const long terminal = syscall(SYS_openat, AT_FDCWD, "/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
  if (terminal < 0) return;  // there is none
  syscall(SYS_ioctl, terminal, TIOCNOTTY);
  syscall(SYS_close, terminal);
}

}  // namespace softrnic::control
