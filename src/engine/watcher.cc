#include "engine/watcher.h"

#include <poll.h>

#include <array>
#include <iterator>
#include <utility>

#include "base/attempt.h"

namespace softrnic::engine {
namespace {

constexpr timespec kPauseWithoutMemory{0, 10'000'000};
constexpr std::size_t kEndsAtOnce = 64;

}  // namespace

Watcher::Watcher(std::shared_ptr<control::Client> daemon, std::shared_ptr<LaneHandover> lanes,
                 control::DaemonCommand command, StreamEnds& ends, Callbacks callbacks)
    : daemon_(std::move(daemon)),
      lanes_(std::move(lanes)),
      command_(std::move(command)),
      ends_(ends),
      callbacks_(std::move(callbacks)),
      thread_(
          "softrnic-watch", [](void* self) { static_cast<Watcher*>(self)->run(); }, this) {}

template <typename Step>
bool Watcher::insist(Step step) {
  pollfd stop{thread_.stop_fd(), POLLIN, 0};
  while (!attempt(step))
    if (ppoll(&stop, 1, &kPauseWithoutMemory, nullptr) > 0) return false;
  return true;
}

bool Watcher::read_changes() {
  for (;;) {
    const auto notification = daemon_->read_notification();
    if (!notification) return false;
    if (!notification->has_value()) return true;
    callbacks_.change(**notification);
  }
}

// A notification is off its socket before there is room for what it says, so the one that found no memory is
// lost. What all devices are now says the same, and notifications that come after it still hold.
bool Watcher::read_all() {
  bool lives = true;
  if (attempt([&] { lives = read_changes(); })) return lives;
  const bool again = insist([&] {
    callbacks_.changes_lost(daemon_);
    lives = read_changes();
  });
  return !again || lives;
}

void Watcher::tell_ends() {
  std::array<std::uint64_t, kEndsAtOnce> tokens;
  while (const std::size_t count = ends_.take(tokens))
    if (callbacks_.streams_ended) callbacks_.streams_ended(daemon_, {tokens.data(), count});
}

bool Watcher::watch() {
  pollfd fds[] = {
      {thread_.stop_fd(), POLLIN, 0}, {daemon_->notification_fd(), POLLIN, 0}, {ends_.fd(), POLLIN, 0}};
  do {
    ppoll(fds, std::size(fds), nullptr, nullptr);
    if ((fds[0].revents & POLLIN) != 0) return false;
    if (fds[2].revents != 0) attempt([this] { tell_ends(); });
  } while (fds[1].revents == 0 || read_all());
  return true;
}

bool Watcher::change_over(NextDaemon& next) {
  if (daemon_->took_leave()) return false;
  for (;;) {
    std::shared_ptr<control::Client> found;
    if (!insist([&] { found = next.find(); }) || found == nullptr) return false;
    bool useful = false;
    attempt([&] { useful = callbacks_.returned(daemon_, found); });
    if (!useful) continue;
    daemon_ = std::move(found);
    return true;
  }
}

void Watcher::run() {
  NextDaemon next(command_, daemon_->kind(), *lanes_, thread_.stop_fd());
  do {
    if (!watch()) return;
  } while (change_over(next));
  if (!insist([&] { callbacks_.ended(daemon_); })) return;
  lanes_->serve(thread_.stop_fd());
}

}  // namespace softrnic::engine
