// What every rsocket answers: the calls of socket(2), how they wait, and what rpoll asks.
// Thread-safe; a call that has to wait sleeps in poll() without the lock.
#pragma once

#include <poll.h>
#include <sys/socket.h>

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "rsocket/result.h"
#include "rsocket/sizes.h"
#include "rsocket/waker.h"

namespace softrnic::rsocket {

class Socket {
 public:
  virtual ~Socket() = default;
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  /// The number by which the program knows it.
  virtual int fd() const = 0;
  /// SOCK_STREAM or SOCK_DGRAM.
  virtual int type() const = 0;

  virtual Result<void> bind(const sockaddr* address, socklen_t length) = 0;
  virtual Result<void> listen(int backlog);
  virtual Result<std::shared_ptr<Socket>> accept();
  virtual Result<void> connect(const sockaddr* address, socklen_t length) = 0;
  virtual Result<void> shutdown(int how) = 0;
  /// Ends what it does; whoever is still in a call of this socket leaves it.
  virtual void close() = 0;
  virtual Result<void> local_name(sockaddr* address, socklen_t* length) = 0;
  virtual Result<void> peer_name(sockaddr* address, socklen_t* length) = 0;

  /// recvmsg(2) and sendmsg(2) without control messages.
  virtual Result<std::size_t> receive(msghdr& message, int flags) = 0;
  virtual Result<std::size_t> send(const msghdr& message, int flags) = 0;

  virtual Result<off_t> map(void* address, std::size_t length, int protection, off_t offset);
  virtual Result<void> unmap(void* address, std::size_t length);
  virtual Result<std::size_t> write_mapped(Bytes from, off_t offset, int flags);

  virtual Result<void> set_option(int level, int name, const void* value, socklen_t length) = 0;
  virtual Result<void> get_option(int level, int name, void* value, socklen_t* length) = 0;
  virtual Result<int> control(int command, long argument) = 0;

  // ---- for rpoll
  /// Takes in what has come, and says what of `events` is true.
  virtual short ready(short events) = 0;
  /// The same; when nothing is, `descriptors` get what to sleep on, and `waker` is woken when others take it.
  virtual short prepare(short events, std::vector<pollfd>& descriptors, Waker& waker) = 0;
  virtual void after_sleep(Waker& waker) = 0;

 protected:
  using Lock = std::unique_lock<std::mutex>;
  Socket() = default;

  /// Until test() is true. EAGAIN: it is not, and the call may not wait; EINTR.
  template <typename Test>
  Result<void> wait(Lock& lock, bool nonblock, Test test);
  /// Until something has come.
  Result<void> wait_once(Lock& lock);

  // ---- with the lock held
  /// Takes in what has come.
  virtual void progress() = 0;
  /// The same, with what takes a system call to see; before a call returns that may not wait.
  virtual void look_closer() = 0;
  /// Whether progress() can see what a sleeper waits for: then it is worth to call it for a while.
  virtual bool polls() const = 0;
  /// So that what comes wakes a sleeper. True: not before now, so that progress() has to look once more.
  virtual bool arm() = 0;
  virtual void add_descriptors(std::vector<pollfd>& descriptors) const = 0;

  std::mutex mutex_;
  Sleepers sleepers_;
};

using SocketPtr = std::shared_ptr<Socket>;

template <typename Test>
Result<void> Socket::wait(Lock& lock, bool nonblock, Test test) {
  using std::chrono::steady_clock;
  std::optional<steady_clock::time_point> poll_until;
  for (;;) {
    progress();
    if (test()) return {};
    if (nonblock) {
      look_closer();
      if (test()) return {};
      return fail(EAGAIN);
    }
    if (polls()) {
      const auto now = steady_clock::now();
      if (!poll_until) poll_until = now + std::chrono::microseconds(defaults().polling_us);
      if (now < *poll_until || arm()) continue;
    }
    if (auto woken = wait_once(lock); !woken) return woken;
  }
}

}  // namespace softrnic::rsocket
