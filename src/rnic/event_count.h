// The count of the events in a queue, as an fd that programs poll. Events may leave the queue unfetched:
// their object is destroyed, or moves elsewhere. The count goes with them, so that a program that finds
// the fd readable, and then waits for an event, gets one.
#pragma once

#include <cstddef>

#include "rnic/semaphore_fd.h"

namespace softrnic::rnic {

/// A thread takes from the count first, without a lock, and then looks into the queue. So the count of a
/// withdrawn event may be in the hands of a thread: it is owed until that thread finds nothing, or finds an
/// event whose own count can be taken in its place.
class EventCount {
 public:
  bool valid() const { return fd_.valid(); }
  int fd() const { return fd_.fd(); }

  // ---- without a lock
  /// Takes one, as SemaphoreFd::wait(). Then look into the queue, and call found_none() if it is empty.
  int wait() { return fd_.wait(); }
  /// Whether wait() would wait now.
  bool would_wait() const { return !fd_.ready() && fd_.blocks(); }
  /// A thread that waits looks into the queue, whether it has an event or not.
  void wake() { fd_.post(); }

  // ---- with the lock of the queue
  /// The queue has one more.
  void add();
  /// So many have left the queue, and nobody has fetched them.
  void withdraw(std::size_t events);
  /// A thread that has taken one from the count found no event. `withdrawn`: so many have left that
  /// withdraw() was not told of.
  void found_none(std::size_t withdrawn = 0);
  /// The queue is another one, which has so many.
  void restart(std::size_t events);

 private:
  void settle();

  SemaphoreFd fd_;
  std::size_t owed_ = 0;  ///< withdrawn events whose counts were not taken back yet
};

}  // namespace softrnic::rnic
