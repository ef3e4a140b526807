// A mutex in memory that processes share, which a process that dies does not take with it.
//
// The kernel marks the mutexes that a thread holds when it ends, is killed or executes another program; the
// next one to lock it gets it. What it guards must be good at any moment.
//
// It holds pointers to the other robust mutexes of its thread: whoever can write it leads that thread's
// unlock astray. So it lies where its own process alone writes; others look at it.
#pragma once

#include <linux/futex.h>
#include <pthread.h>
#include <sys/types.h>

#include <cerrno>
#include <cstdint>

namespace softrnic::samehost {

/// Lives in shared memory; init() is called once, by whoever makes the memory.
class RobustMutex {
 public:
  void init() {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&mutex_, &attributes);
    pthread_mutexattr_destroy(&attributes);
  }

  /// Waits for living holders. (With std::lock_guard; false cannot be told there and needs a damaged mutex.)
  bool lock() { return taken(pthread_mutex_lock(&mutex_)); }
  void unlock() { pthread_mutex_unlock(&mutex_); }

  /// Whether a living thread has it, without touching it: the kernel takes the thread's number out
  /// when the thread ends (robust-futex-ABI in the kernel's documentation), even before a process
  /// that was killed is gone.
  bool is_held() const { return holder() != 0; }
  /// The number of that thread in its PID namespace; 0: there is none.
  pid_t holder() const {
    const auto word = static_cast<std::uint32_t>(__atomic_load_n(&mutex_.__data.__lock, __ATOMIC_ACQUIRE));
    return (word & FUTEX_OWNER_DIED) == 0 ? static_cast<pid_t>(word & FUTEX_TID_MASK) : 0;
  }

 private:
  bool taken(int error) {
    if (error == EOWNERDEAD) error = pthread_mutex_consistent(&mutex_);
    return error == 0;
  }

  pthread_mutex_t mutex_;
};

}  // namespace softrnic::samehost
