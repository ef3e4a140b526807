// Events that wait for the program, and the fd that counts them: one thing, so that they always agree.
#pragma once

#include <cstddef>
#include <deque>
#include <mutex>

#include "base/expected.h"
#include "rnic/event_count.h"

namespace softrnic::rnic {

/// All but get(), fd() and would_wait() with the owner's lock held. No allocation but that of put().
template <typename Event>
class EventQueue {
 public:
  bool valid() const { return count_.valid(); }
  int fd() const { return count_.fd(); }
  bool would_wait() const { return count_.would_wait(); }

  /// std::bad_alloc: it is not there.
  void put(const Event& event) {
    events_.push_back(event);
    count_.add();
  }
  /// Removes those that chosen(event) is true for.
  template <typename Chosen>
  void remove(Chosen chosen) {
    count_.withdraw(std::erase_if(events_, chosen));
  }
  /// Waits for the next one unless the program has set O_NONBLOCK: EINTR or EAGAIN. Calls taken(event) with
  /// `mutex`, which is the owner's lock.
  template <typename Taken>
  Expected<Event, int> get(std::mutex& mutex, Taken taken) {
    for (;;) {
      if (const int error = count_.wait(); error != 0) return Unexpected{error};
      const std::lock_guard lock(mutex);
      if (events_.empty()) {
        count_.found_none();
        continue;
      }
      const Event event = events_.front();
      events_.pop_front();
      taken(event);
      return event;
    }
  }

 private:
  EventCount count_;
  std::deque<Event> events_;
};

}  // namespace softrnic::rnic
