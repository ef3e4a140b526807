// The number of the calling thread in its PID namespace (gettid(2)), without a system call but for the first
// look.
#pragma once

#include <sys/types.h>
#include <unistd.h>

namespace softrnic {

namespace detail {
inline constinit thread_local pid_t this_thread = 0;
}

inline pid_t thread_number() {
  if (detail::this_thread == 0) detail::this_thread = gettid();
  return detail::this_thread;
}

/// In a forked child, whose only thread has another number than the one that has forked.
inline void forget_thread_number() { detail::this_thread = 0; }

}  // namespace softrnic
