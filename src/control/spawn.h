// Starts softrnicd from inside any program: nothing of the program leaks into it, and
// nothing of it shows there.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/expected.h"
#include "base/unique_fd.h"
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

/// The path of softrnicd: SOFTRNIC_DAEMON, else beside the library that holds this code or beside the
/// program. Empty when there is none.
std::string find_daemon();

/// The path of the program that this process runs, without links in it. Empty when it cannot be told.
std::string own_program();

/// All that a start takes from the program. Made in one of the program's own calls: other threads must not
/// look at its environment, which the program may be changing.
struct DaemonCommand {
  std::string path;                      ///< empty: there is none to be started
  std::vector<std::string> environment;  ///< without what is meant for this program only
};
/// `path` empty: find_daemon().
DaemonCommand daemon_command(const std::string& path = {});

enum class Started : std::uint8_t {
  ready,     ///< a daemon listens
  vanished,  ///< whoever was to report has ended without a word; try again
};

/// Starts a daemon as a process of its own (session, signals, descriptors) that is not a child of this one.
/// What is returned becomes readable when it listens or says why it cannot: then read_report() says which.
/// Raises no SIGCHLD; safe in programs with threads.
Expected<UniqueFd, Error> launch_daemon(const DaemonCommand& command);
/// Waits for the report for kAnswerTimeout at most.
Expected<Started, Error> read_report(const UniqueFd& launched, const std::string& path);
/// Both.
Expected<Started, Error> start_daemon(const DaemonCommand& command);

}  // namespace softrnic::control
