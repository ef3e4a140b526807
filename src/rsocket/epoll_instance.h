// repoll: what epoll(7) is for descriptors, for rsockets and other descriptors together. Level-triggered:
// EPOLLET is taken and does nothing, as in librdmacm; EPOLLONESHOT is honoured.
#pragma once

#include <poll.h>
#include <sys/epoll.h>

#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "base/unique_fd.h"
#include "rsocket/result.h"
#include "rsocket/waker.h"

namespace softrnic::rsocket {

/// Thread-safe; wait() sleeps in poll_sockets() without the lock.
class EpollInstance {
 public:
  /// As epoll_create1(2) with EPOLL_CLOEXEC; O_NONBLOCK is taken too. EINVAL: other flags; EMFILE, ENFILE,
  /// ENOMEM.
  static Result<std::shared_ptr<EpollInstance>> make(int flags);

  int fd() const { return fd_.get(); }

  /// epoll_ctl(2). EBADF, EEXIST, EFAULT, EINVAL, ENOENT.
  Result<void> control(int operation, int fd, const epoll_event* event);
  /// epoll_wait(2): how many of `events` were filled in. EINTR; EBADF: closed meanwhile.
  Result<int> wait(std::span<epoll_event> events, int timeout_ms);
  /// The rsocket `fd` is closed.
  void forget(int fd);
  /// Whoever waits leaves.
  void close();

 private:
  struct Interest {
    epoll_event event{};
    bool disabled = false;  ///< EPOLLONESHOT has told its event
  };
  /// A thread that waits, from then on to be woken by every change.
  class Waiting;

  explicit EpollInstance(UniqueFd fd) : fd_(std::move(fd)) {}
  std::vector<pollfd> wanted() const;
  /// What is true and still wanted; forgets descriptors that are closed.
  int report(std::span<const pollfd> found, std::span<epoll_event> events);

  const UniqueFd fd_;  ///< only the number is used
  std::mutex mutex_;
  Sleepers sleepers_;
  std::map<int, Interest> interests_;
  int last_reported_ = -1;  ///< those after it come first: none starves
  bool closed_ = false;
};

using EpollPtr = std::shared_ptr<EpollInstance>;

/// Those of the process by descriptor. Thread-safe.
EpollPtr find_epoll(int fd);
void enter_epoll(const EpollPtr& instance);
/// Takes it out of the table.
EpollPtr leave_epoll(int fd);
/// For all instances: the rsocket `fd` is closed.
void forget_in_epolls(int fd);

}  // namespace softrnic::rsocket
