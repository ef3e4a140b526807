// Starts softrnicd from inside any program: nothing of the program leaks into it, and nothing of it shows there.
#pragma once

#include <cstdint>
#include <string>

#include "base/expected.h"
#include "control/client.h"

namespace softrnic::control {

/// What a starting daemon writes into the pipe it was given: one of these, in one write (less than PIPE_BUF).
struct StartupReport {
  static constexpr std::uint32_t kMagic = 0x7274'7372;  ///< "rstr"
  std::uint32_t magic = kMagic;
  std::int32_t error = 0;  ///< 0: a daemon listens (this one or another); else a positive errno
  std::uint32_t reason = 0;
  std::uint32_t reserved = 0;
  std::uint64_t figures[4] = {};
  char text[kTextSize] = {};
};

/// The descriptor under which the daemon finds the writing end: `softrnicd --report-fd 3`.
inline constexpr int kReportFd = 3;

/// The path of softrnicd: SOFTRNIC_DAEMON, else beside the library that holds this code or beside the program.
/// Empty when there is none.
std::string find_daemon();

enum class Started : std::uint8_t {
  ready,     ///< a daemon listens
  vanished,  ///< whoever was to report has ended without a word; try again
};

/// Starts `path` as a process of its own (session, signals, descriptors) that is not a child of this one, and waits
/// until it listens or says why it cannot. Raises no SIGCHLD; safe in programs with threads.
Expected<Started, Error> start_daemon(const std::string& path);

}  // namespace softrnic::control
