// What is tried in a process of its own: a filter may end who tries, and two processes are needed to see
// whether one reaches the other.
#pragma once

#include <signal.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "base/unique_fd.h"

namespace softrnic::doctor {

inline constexpr std::chrono::milliseconds kChildPatience{5000};

/// A child process; killed, if it has not ended, and waited for with this object.
class Child {
 public:
  explicit Child(pid_t pid) : pid_(pid) {}
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() { end(); }
  pid_t pid() const { return pid_; }
  /// waitpid()'s status.
  int end() {
    int status = 0;
    if (pid_ <= 0) return 0;
    kill(pid_, SIGKILL);
    waitpid(pid_, &status, 0);
    pid_ = -1;
    return status;
  }

 private:
  pid_t pid_;
};

struct Pipe {
  UniqueFd reading, writing;
  explicit operator bool() const { return reading && writing; }
};
Pipe make_pipe();

/// All that comes out of `fd` until its writers are gone, or `most` bytes. Nothing: that took too long.
std::optional<std::string> read_all(int fd, std::size_t most,
                                    std::chrono::milliseconds patience = kChildPatience);

/// What `body`, which returns plain data, finds out in a forked child. Nothing: there is no child to be had,
/// or it ended or hung.
template <typename Body>
auto in_child(Body body) -> std::optional<decltype(body())> {
  using Found = decltype(body());
  static_assert(std::is_trivially_copyable_v<Found>);
  Pipe pipe = make_pipe();
  if (!pipe) return std::nullopt;
  const pid_t pid = fork();
  if (pid == 0) {
    const Found found = body();
    _exit(write(pipe.writing.get(), &found, sizeof found) == sizeof found ? 0 : 1);
  }
  const Child child(pid);
  pipe.writing.reset();
  const auto bytes = pid < 0 ? std::nullopt : read_all(pipe.reading.get(), sizeof(Found));
  if (!bytes || bytes->size() != sizeof(Found)) return std::nullopt;
  Found found;
  __builtin_memcpy(&found, bytes->data(), sizeof found);
  return found;
}

/// What a program writes, to both outputs; words[0] is its path. Nothing: it does not start or hangs.
std::optional<std::string> output_of(std::vector<std::string> words, std::vector<std::string> environment);

}  // namespace softrnic::doctor
