// How a thread that sleeps in poll() on a socket hears that another thread has taken the events it waits for.
#pragma once

#include <vector>

#include "base/unique_fd.h"

namespace softrnic::rsocket {

/// One a thread. Thread-safe.
class Waker {
 public:
  Waker();
  /// Of the thread that calls.
  static Waker& mine();

  int fd() const { return fd_.get(); }
  void wake();
  void clear();

 private:
  UniqueFd fd_;
};

/// The sleepers of one socket; guarded by its mutex.
class Sleepers {
 public:
  void add(Waker& waker) { wakers_.push_back(&waker); }
  void remove(Waker& waker);
  void wake_all() {
    for (Waker* waker : wakers_) waker->wake();
  }

 private:
  std::vector<Waker*> wakers_;
};

}  // namespace softrnic::rsocket
