// Threads of the library's own: with all signals blocked, so that the program's handlers run where the
// program expects them.
#pragma once

#include <thread>

#include "base/unique_fd.h"

namespace softrnic::engine {

/// With a descriptor that tells it to stop. The last member of whoever it works for: all that its body uses
/// is there before it and goes after it.
class QuietThread {
 public:
  /// Starts at once; the body ends when stop_fd() is readable. Check error() afterwards.
  QuietThread(const char* name, void (*body)(void*), void* argument);
  /// Stops and joins: not to be called with a lock that the body takes.
  ~QuietThread();
  QuietThread(const QuietThread&) = delete;
  QuietThread& operator=(const QuietThread&) = delete;

  /// 0, or the errno of what ran out: descriptors, threads or memory.
  int error() const { return error_; }

  // ---- for the body
  int stop_fd() const { return stop_fd_.get(); }

 private:
  UniqueFd stop_fd_;
  int error_ = 0;
  std::thread thread_;
};

/// A thread that nobody waits for and nothing stops, for a call into the C library that may take long and
/// cannot be cut short. 0, or the errno of what ran out. `body` throws nothing, and whatever it touches lives
/// as long as it does; the process may end meanwhile.
int run_aside(const char* name, void (*body)(void*), void* argument);

}  // namespace softrnic::engine
