// An fd that is readable as often as something was posted: what programs poll for completions and events.
#pragma once

namespace softrnic::rnic {

/// An eventfd in semaphore mode. Blocking by default; programs may set O_NONBLOCK on it and use poll or
/// epoll, level or edge triggered (each post() is an edge).
class SemaphoreFd {
 public:
  SemaphoreFd();
  ~SemaphoreFd();
  SemaphoreFd(const SemaphoreFd&) = delete;
  SemaphoreFd& operator=(const SemaphoreFd&) = delete;

  bool valid() const { return fd_ >= 0; }
  int fd() const { return fd_; }

  void post();
  /// Takes one. 0, or EINTR; EAGAIN when the program has set O_NONBLOCK. Waits otherwise.
  int wait();
  /// Takes one if there is one, without waiting whatever the fd's flags.
  bool try_take();
  /// Whether something was posted.
  bool ready() const;
  /// Whether wait() waits: the program has not set O_NONBLOCK.
  bool blocks() const;

 private:
  int fd_;
};

}  // namespace softrnic::rnic
