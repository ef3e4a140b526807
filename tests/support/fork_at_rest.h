// fork() where other threads may be at work.
#pragma once

#include <dirent.h>
#include <sched.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>

#include "tests/support/thread_state.h"

namespace softrnic::test {

#ifdef __SANITIZE_ADDRESS__
inline constexpr bool kAllocatorMindsForks = false;
#else
inline constexpr bool kAllocatorMindsForks = true;
#endif

/// Whether all threads of this process but the caller sleep.
inline bool others_sleep() {
  const std::unique_ptr<DIR, int (*)(DIR*)> tasks(opendir("/proc/self/task"), closedir);
  while (const dirent* const entry = readdir(tasks.get())) {
    const auto thread = static_cast<pid_t>(std::strtol(entry->d_name, nullptr, 10));
    if (thread == 0 || thread == gettid()) continue;  // 0: the folder and the one above
    if (const char state = state_of(thread); state != 'S' && state != '?') return false;
  }
  return true;
}

/// fork(2). The allocator of ASan (before LLVM 17 and GCC 14) leaves its locks as they are in the child: one
/// that another thread held stays locked there for ever. So there this waits until the other threads sleep.
inline pid_t fork_at_rest() {
  if (!kAllocatorMindsForks)
    while (!others_sleep()) sched_yield();
  return fork();
}

}  // namespace softrnic::test
