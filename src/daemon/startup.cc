#include "daemon/startup.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "control/channel.h"
#include "control/spawn.h"

namespace softrnic::daemon {
namespace {

using control::daemon_name;

constexpr const char* kLockSuffix = "/starting";
constexpr int kAttempts = 64;  ///< each means that another start has ended in the meantime

bool somebody_listens() {
  const UniqueFd fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  const control::AbstractName name = daemon_name(geteuid());
  return fd && connect(fd.get(), name.get(), name.length) == 0;
}

void write_report(int pipe, const Failure& failure) {
  control::StartupReport report;
  report.error = failure.error;
  report.reason = static_cast<std::uint32_t>(failure.reason.id);
  std::copy(failure.reason.figures.begin(), failure.reason.figures.end(), report.figures);
  if (failure.error != 0) control::put_text(report.text, control::make_error(failure).text);
  if (write(pipe, &report, sizeof report) < 0) return;  // the starter has given up: SIGPIPE is ignored
}

/// Gives the pipe to the process that holds the lock. 0 or a positive errno: ECONNREFUSED when it has let go.
int hand_over(int pipe) {
  const UniqueFd fd(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const control::AbstractName name = daemon_name(geteuid(), kLockSuffix);
  if (!fd || connect(fd.get(), name.get(), name.length) != 0) return errno;
  const char note = 1;
  return control::send_datagram(fd.get(), control::bytes_of(note), pipe);
}

}  // namespace

Expected<Startup::Role, Failure> Startup::begin() {
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    if (somebody_listens()) {
      ready();
      return Role::second;
    }
    lock_.reset(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    const control::AbstractName name = daemon_name(geteuid(), kLockSuffix);
    if (lock_ && bind(lock_.get(), name.get(), name.length) == 0) {
      // the holder before us may have become the daemon between our two looks
      if (!somebody_listens()) return Role::winner;
      ready();
      return Role::second;
    }
    lock_.reset();
    const int error = hand_over(report_.get());
    if (error == 0) return Role::second;
    if (error != ECONNREFUSED) return Unexpected{refuse(error, ReasonId::daemon_unreachable, error)};
  }
  return Unexpected{refuse(EBUSY, ReasonId::daemon_unreachable, EBUSY)};
}

Expected<UniqueFd, Failure> Startup::listen() {
  UniqueFd fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const control::AbstractName name = daemon_name(geteuid());
  if (!fd || bind(fd.get(), name.get(), name.length) != 0 || ::listen(fd.get(), SOMAXCONN) != 0) {
    const int error = errno;
    if (error == EADDRINUSE)  // bound by somebody who does not listen
      return Unexpected{refuse(error, ReasonId::daemon_name_taken, ~0U, geteuid())};
    return Unexpected{refuse(error, ReasonId::daemon_unreachable, error)};
  }
  return fd;
}

void Startup::report(const Failure& failure) {
  if (report_) write_report(report_.get(), failure);
  report_.reset();
  if (!lock_) return;
  for (;;) {
    char note;
    control::Datagram datagram;
    const int error = control::receive_datagram(lock_.get(), std::as_writable_bytes(std::span(&note, 1)),
                                                datagram, MSG_DONTWAIT);
    if (error != 0) break;
    if (datagram.fds[0]) write_report(datagram.fds[0].get(), failure);
  }
  lock_.reset();  // who sent a pipe after the last look sees it close, and connects or starts anew
}

}  // namespace softrnic::daemon
