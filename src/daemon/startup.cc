#include "daemon/startup.h"

#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

#include "base/reason_id.h"
#include "control/local_name.h"
#include "control/spawn.h"
#include "control/system_daemon.h"

namespace softrnic::daemon {
namespace {

using control::daemon_name;
using control::kAnswerTimeout;
using control::StartupReport;
using Clock = std::chrono::steady_clock;

control::AbstractName lock_name() { return daemon_name(geteuid(), "/starting"); }

StartupReport report_of(const Failure& failure) {
  StartupReport report;
  control::put_failure(report, failure);
  return report;
}

/// A daemon of this user or of all users listens. EACCES: somebody else has its name.
Expected<bool, Failure> somebody_listens() {
  if (control::reach_system_daemon(kAnswerTimeout)) return true;
  const auto socket = control::reach_own(daemon_name(geteuid()), kAnswerTimeout);
  if (!socket && socket.error().error != ECONNREFUSED) return Unexpected{socket.error()};
  return socket.has_value();
}

/// Waits for what the holder of the lock reports. ECONNREFUSED: it has ended or let go without a word.
Failure wait_for_holder() {
  const auto socket = control::reach_own(lock_name(), kAnswerTimeout);
  if (!socket) return socket.error();
  StartupReport report;
  control::Datagram datagram;
  const int error =
      control::receive_datagram(socket->get(), std::as_writable_bytes(std::span(&report, 1)), datagram);
  if (error == EAGAIN) return refuse(ETIMEDOUT, ReasonId::daemon_unreachable, ETIMEDOUT);
  if (error != 0 || datagram.size != sizeof report || report.magic != StartupReport::kMagic)
    return refuse(ECONNREFUSED, ReasonId::daemon_unreachable, ECONNREFUSED);
  return control::failure_in(report);
}

}  // namespace

Expected<Startup::Role, Failure> Startup::begin() {
  Failure last;
  for (const auto end = Clock::now() + kAnswerTimeout / 2; Clock::now() < end;) {
    const auto listens = somebody_listens();
    if (!listens) return Unexpected{listens.error()};
    if (*listens) {
      lock_.reset();
      ready();
      return Role::second;
    }
    if (lock_) return Role::winner;
    auto lock = control::listen_as(lock_name(), SOMAXCONN);
    if (lock) {  // the holder before us may have become the daemon between our two looks: once more round
      lock_ = std::move(*lock);
      continue;
    }
    last = lock.error();
    if (last.error != EADDRINUSE || control::is_held_by_other(lock_name())) return Unexpected{last};
    const Failure outcome = wait_for_holder();
    if (outcome.error != 0 && outcome.error != ECONNREFUSED) return Unexpected{outcome};
    // between its bind() and its listen() the holder has the name, and nobody can wait for it
    if (outcome.error == ECONNREFUSED) sched_yield();
  }
  return Unexpected{last};
}

Expected<UniqueFd, Failure> Startup::listen() {
  return control::listen_as(daemon_name(geteuid()), SOMAXCONN);
}

void Startup::report(const Failure& failure) {
  const StartupReport report = report_of(failure);
  for (int i = 0; lock_ && i < SOMAXCONN; ++i) {
    const UniqueFd second(accept4(lock_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!second) break;
    const auto peer = control::peer_credentials(second.get());
    if (peer && peer->uid == geteuid()) control::send_datagram(second.get(), control::bytes_of(report));
  }
  lock_.reset();  // who came after the last look sees it close, and finds the daemon or starts anew
  // a starter that has given up is no loss: SIGPIPE is ignored
  if (report_ && write(report_.get(), &report, sizeof report) < 0) report_.reset();
  report_.reset();
}

}  // namespace softrnic::daemon
