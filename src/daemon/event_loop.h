// Waits for descriptors and a deadline, and calls who watches them: epoll, of one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>

#include "base/time.h"
#include "base/unique_fd.h"

namespace softrnic::daemon {

class EventLoop {
 public:
  using Handler = std::function<void()>;

  /// Called by wait() when it has waited, before the handlers: who keeps a clock brings it up.
  std::function<void()> woken = [] {};

  /// 0 or a positive errno. Before all else.
  int open();

  /// From now on `handler` is called while `events` (EPOLLIN, EPOLLOUT) hold of `fd`, which stays the
  /// caller's; it replaces an earlier one of that descriptor. False, with errno: the system has no room.
  bool watch(int fd, std::uint32_t events, Handler handler);
  /// Before the descriptor is closed: one that was passed on to another process would go on to be told of.
  void forget(int fd);

  /// Waits for an event, or until `due`, and calls the handlers, which may watch and forget what they like.
  /// 0 or a positive errno.
  int wait(TimePoint due);

 private:
  struct Watched {
    std::uint32_t turn = 0;  ///< tells it from an earlier one of the same number
    std::shared_ptr<Handler> handler;
  };

  void call(std::uint64_t key);

  UniqueFd epoll_;
  std::map<int, Watched> watched_;
  std::uint32_t next_turn_ = 0;
};

}  // namespace softrnic::daemon
