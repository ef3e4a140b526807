#include "engine/engine_thread.h"

#include <poll.h>

#include <cstdint>
#include <iterator>
#include <utility>

#include "base/clock.h"
#include "base/short_slices.h"

namespace softrnic::engine {
namespace {

constexpr timespec kNoTime{};
constexpr std::size_t kManyPackets = 64;

}  // namespace

EngineThread::EngineThread(Lane& lane)
    : lane_(lane),
      thread_(
          "softrnic", [](void* self) { static_cast<EngineThread*>(self)->run(); }, this) {
  if (error() == 0) lives_.wait(false);
}

// A program that takes its messages itself is behind, perhaps for want of the processor.
void EngineThread::make_way() const {
  pollfd stop{thread_.stop_fd(), POLLIN, 0};
  const timespec limit{0, PollModeration::kShortest.count()};
  ppoll(&stop, 1, &limit, nullptr);
}

EngineThread::Woke EngineThread::wait() {
  pollfd fds[] = {{thread_.stop_fd(), POLLIN, 0},
                  {lane_.timer_fd(), POLLIN, 0},
                  {lane_.readable_fd(), lane_.readable_events(), 0},
                  {lane_.doorbell_fd(), POLLIN, 0},
                  {lane_.frames_fd(), POLLIN, 0},
                  {lane_.streams_fd(), POLLIN, 0}};
  const Duration period = moderation_.next(lane_.last_poll().since_call, lane_.longest_pause());
  int ready = 0;
  if (period > Duration::zero()) {
    const timespec limit{0, static_cast<long>(period.count())};
    ready = ppoll(fds, 1, &limit, nullptr);
  } else if (lane_.arm_doorbell()) {
    const timespec look_again{0, samehost::RingLink::kRecheck / std::chrono::nanoseconds(1)};
    ready = ppoll(fds, std::size(fds), &look_again, nullptr);
    if (ready == 0) ready = lane_.recheck_doorbell() ? 1 : ppoll(fds, std::size(fds), nullptr, nullptr);
    lane_.disarm_doorbell();
  } else {
    ready = ppoll(fds, 1, &kNoTime, nullptr) + 1;
  }
  if ((fds[0].revents & POLLIN) != 0) return Woke::to_stop;
  return ready == 0 ? Woke::after_pause : Woke::to_work;
}

void EngineThread::run() {
  ask_for_short_slices();
  lane_.begin_life();
  lives_ = true;
  lives_.notify_one();
  std::uint32_t polls = lane_.eager_polls();
  for (Woke woke = wait(); woke != Woke::to_stop; woke = wait()) {
    const LastPoll::Age program = lane_.last_poll();
    const std::uint32_t polls_before = std::exchange(polls, lane_.eager_polls());
    // One that only posts, as its sends complete at once, does nothing for the lane's other queue pairs.
    const bool neglected = program.since_look > PollModeration::kNeglected;
    const bool insist = woke == Woke::to_work || neglected || lane_.needs_service();
    // A program that polls right now needs the processor and the lock more than a second reader.
    const bool attended = !insist && program.since_call <= PollModeration::kUnpolled;
    const std::uint32_t messages = polls - polls_before;
    const std::size_t packets = attended ? 0 : lane_.service(insist, messages != 0);
    moderation_.woke(packets != 0, program.since_call, messages);
    if (packets >= kManyPackets && messages != 0) make_way();
  }
  lane_.end_life();
}

}  // namespace softrnic::engine
