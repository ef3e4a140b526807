#include "doctor/child.h"

#include <fcntl.h>
#include <poll.h>

#include <array>
#include <cerrno>

#include "base/argument_pointers.h"

namespace softrnic::doctor {
namespace {

constexpr std::size_t kMostOutput = 1 << 20;

}  // namespace

Pipe make_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return {};
  return {UniqueFd(above_stdio(ends[0])), UniqueFd(above_stdio(ends[1]))};
}

std::optional<std::string> read_all(int fd, std::size_t most, std::chrono::milliseconds patience) {
  using Clock = std::chrono::steady_clock;
  const auto limit = Clock::now() + patience;
  std::string out;
  std::array<char, 4096> piece;
  while (out.size() < most) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(limit - Clock::now()).count();
    pollfd waiting{fd, POLLIN, 0};
    if (left <= 0) return std::nullopt;
    const int ready = poll(&waiting, 1, static_cast<int>(left));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return std::nullopt;
    const ssize_t got = read(fd, piece.data(), std::min(piece.size(), most - out.size()));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    out.append(piece.data(), static_cast<std::size_t>(got));
  }
  return out;
}

std::optional<std::string> output_of(std::vector<std::string> words, std::vector<std::string> environment) {
  Pipe pipe = make_pipe();
  if (!pipe) return std::nullopt;
  const std::vector<char*> arguments = argument_pointers(words), variables = argument_pointers(environment);
  const pid_t pid = fork();
  if (pid == 0) {
    dup2(pipe.writing.get(), STDOUT_FILENO);
    dup2(pipe.writing.get(), STDERR_FILENO);
    execve(arguments[0], arguments.data(), variables.data());
    _exit(127);
  }
  const Child child(pid);
  pipe.writing.reset();
  return pid < 0 ? std::nullopt : read_all(pipe.reading.get(), kMostOutput);
}

}  // namespace softrnic::doctor
