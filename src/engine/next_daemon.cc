#include "engine/next_daemon.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "control/channel.h"
#include "control/local_name.h"

namespace softrnic::engine {
namespace {

control::AbstractName starter_name() { return control::daemon_name(geteuid(), "/restart"); }

}  // namespace

NextDaemon::Milliseconds NextDaemon::pause_before(unsigned number, Milliseconds first) {
  if (number == 0) return Milliseconds(0);
  return std::min(first * (1U << std::min(number - 1, 16U)), kLongestPause);
}

std::unique_ptr<control::Client> NextDaemon::find() {
  if (Clock::now() - connected_ >= kLongLife) attempts_ = 0;
  while (attempts_ < kAttempts) {
    if (wait_for(-1, pause_before(attempts_++, first_pause_)) == Outcome::stopped) return nullptr;
    auto client = connect();
    if (!client && kind_ == control::DaemonKind::of_user) {
      if (!see_to_start()) return nullptr;
      client = connect();
    }
    if (!client) continue;
    connected_ = Clock::now();
    return client;
  }
  return nullptr;
}

NextDaemon::Outcome NextDaemon::wait_for(int fd, Milliseconds longest) {
  const auto end = Clock::now() + longest;
  for (;;) {
    const auto left = std::chrono::ceil<Milliseconds>(end - Clock::now());
    pollfd fds[] = {{stop_fd_, POLLIN, 0}, {lanes_.listener(), POLLIN, 0}, {fd, POLLIN, 0}};
    const int ready = poll(fds, 3, static_cast<int>(std::max<std::int64_t>(left.count(), 0)));
    if (ready < 0 && errno != EINTR) return Outcome::stopped;
    if (ready == 0) return Outcome::passed;
    if (ready < 0) continue;
    if (fds[0].revents != 0) return Outcome::stopped;
    if (fds[1].revents != 0) lanes_.answer();
    if (fds[2].revents != 0) return Outcome::ready;
  }
}

std::unique_ptr<control::Client> NextDaemon::connect() {
  auto client =
      control::Client::connect({.daemon_path = {}, .spawn = false, .patience = kPatience, .kind = kind_});
  return client ? std::move(*client) : nullptr;
}

bool NextDaemon::see_to_start() {
  const auto own = control::listen_as(starter_name(), SOMAXCONN);
  // Somebody else's program that has the name, or no descriptor for it: then there may be more than one
  // start.
  if (!own && own.error().error == EADDRINUSE && !control::is_held_by_other(starter_name()))
    return wait_for_starter();
  return start();
}

bool NextDaemon::wait_for_starter() {
  const auto starter = control::reach_own(starter_name(), kPatience);
  return !starter || wait_for(starter->get(), control::kAnswerTimeout) != Outcome::stopped;
}

bool NextDaemon::start() {
  const auto launched = control::launch_daemon(command_);
  return !launched || wait_for(launched->get(), control::kAnswerTimeout) != Outcome::stopped;
}

}  // namespace softrnic::engine
