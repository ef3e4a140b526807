#include "base/poll_backoff.h"

#include <poll.h>
#include <sched.h>

#include <ctime>

#include "base/cpu_relax.h"

namespace softrnic {
namespace {

/// A thread that polls in vain lets others have the processor after so much effort.
constexpr std::uint32_t kEffortBeforeRest = 4096;
/// And so often, before it lets them have it for a while.
constexpr std::uint32_t kYieldsBeforeNap = 16;

}  // namespace

// sched_yield() alone has Linux 6.18 let others wait for seconds where programs call it in quick succession.
// While messages come through memory it is not called at all: after a tenth of a millisecond without any the
// peer is off the processor.
Rest PollBackoff::in_vain(std::uint32_t effort) {
  const std::uint32_t so_far = effort_.load(std::memory_order_relaxed) + effort;
  const bool rests = so_far >= kEffortBeforeRest;
  effort_.store(rests ? 0 : so_far, std::memory_order_relaxed);
  if (!rests) return Rest::pause;
  const std::uint32_t number = rests_.load(std::memory_order_relaxed) + 1;
  rests_.store(number, std::memory_order_relaxed);
  return effort >= kSystemCall && number % kYieldsBeforeNap != 0 ? Rest::yield : Rest::nap;
}

void take_rest(Rest rest) {
  constexpr timespec kShort{0, 1};
  if (rest == Rest::pause) cpu_relax();
  if (rest == Rest::yield) sched_yield();
  if (rest == Rest::nap) ppoll(nullptr, 0, &kShort, nullptr);
}

}  // namespace softrnic
