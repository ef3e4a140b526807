#include "samehost/hazard_domain.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <iterator>
#include <utility>

#include "base/reason_id.h"
#include "control/shared_memory.h"
#include "samehost/proc_threads.h"
#include "samehost/revocable_access.h"

namespace softrnic::samehost {
namespace {

/// An access takes less, unless the accessor is off the processor.
constexpr Duration kVisit = std::chrono::milliseconds(2);
constexpr timespec kRecheck{0, 1'000'000};

using Word = std::atomic<std::uint64_t>;

// Nobody wakes for it, as every access would pay for that with a look whether somebody waits.
void wait_a_moment(const Word& word, std::uint64_t from) {
  const auto* const halves = reinterpret_cast<const std::uint32_t*>(&word);
  const auto* const low = halves + (std::endian::native == std::endian::big ? 1 : 0);
  syscall(SYS_futex, low, FUTEX_WAIT, static_cast<std::uint32_t>(from), &kRecheck, nullptr, 0);
}

}  // namespace

struct HazardDomain::Accessor {
  Accessor(const DirectHeader& looked_at, bool is_mapped, std::uint8_t number, std::uint32_t index)
      : header(looked_at),
        mapped(is_mapped),
        lane(number),
        secret(looked_at.secret),
        pid(looked_at.pid),
        pid_space(looked_at.pid_space),
        revocable(looked_at.revocable != 0),
        hazard(looked_at.hazards[index].word) {}
  ~Accessor() {
    if (mapped && !forgotten) munmap(const_cast<DirectHeader*>(&header), sizeof header);
  }
  Accessor(const Accessor&) = delete;
  Accessor& operator=(const Accessor&) = delete;

  const DirectHeader& header;
  const bool mapped;  ///< for this object; else it is this process
  const std::uint8_t lane;
  const std::uint64_t secret;
  const pid_t pid;
  const std::uint32_t pid_space;
  const bool revocable;
  const Word& hazard;
  bool expelled = false;
  bool forgotten = false;
};

HazardDomain::HazardDomain(DirectHeader& own, Duration patience, Clock now)
    : own_(own), patience_(patience), now_(now) {}

HazardDomain::~HazardDomain() = default;

bool HazardDomain::admit(std::uint8_t lane, const UniqueFd& memory, std::uint32_t index) {
  const auto* const header =
      static_cast<const DirectHeader*>(control::map_to_read(memory.get(), sizeof(DirectHeader)));
  if (header == nullptr) return false;
  auto accessor = std::make_unique<Accessor>(*header, true, lane, index);
  // one that cannot be revoked might have to be waited for as long as it likes
  if (own_.revocable != 0 && !accessor->revocable) return false;
  const std::lock_guard lock(mutex_);
  const Accessor* const known = accessors_[lane].get();
  if (known != nullptr && known->mapped && known->secret == accessor->secret) return !known->expelled;
  put(lane, std::move(accessor));
  return true;
}

void HazardDomain::admit_own(std::uint8_t lane, std::uint32_t index) {
  auto accessor = std::make_unique<Accessor>(own_, false, lane, index);
  const std::lock_guard lock(mutex_);
  if (accessors_[lane] == nullptr || accessors_[lane]->mapped) put(lane, std::move(accessor));
}

void HazardDomain::put(std::uint8_t lane, std::unique_ptr<Accessor> accessor) {
  std::unique_ptr<Accessor>& entry = accessors_[lane];
  std::atomic<std::uint64_t>& admitted = own_.accessors[lane].admitted;
  if (entry != nullptr) {
    admitted.store(0, std::memory_order_seq_cst);
    TimePoint limit = kNever;
    wait_for(*entry, limit);
  }
  entry = std::move(accessor);
  admitted.store(entry->secret, std::memory_order_seq_cst);
}

void HazardDomain::wait() {
  const std::lock_guard lock(mutex_);
  TimePoint limit = kNever;
  for (const auto& accessor : accessors_)
    if (accessor != nullptr && !accessor->expelled) wait_for(*accessor, limit);
}

void HazardDomain::forget() {
  for (const auto& accessor : accessors_)
    if (accessor != nullptr) accessor->forgotten = true;
}

bool HazardDomain::is_here(std::uint64_t hazard) const {
  return hazard != 0 && std::any_of(std::begin(own_.lanes), std::end(own_.lanes),
                                    [hazard](const std::atomic<std::uint32_t>& lane) {
                                      return lane.load(std::memory_order_relaxed) == HazardWord::lane(hazard);
                                    });
}

bool HazardDomain::changes_soon(const Word& word, std::uint64_t from) const {
  for (const TimePoint end = now_() + kVisit; now_() < end; sched_yield())
    if (word.load(std::memory_order_acquire) != from) return true;
  return false;
}

// An accessor that is stopped leaves when it likes. What it is at is revoked then: it will find that before
// its next access. `limit` is that of all accessors together, from the first one on that has to be waited
// for; kNever: there was none.
void HazardDomain::wait_for(Accessor& accessor, TimePoint& limit) {
  DirectAccessor& entry = own_.accessors[accessor.lane];
  // The accessor's next look at `admitted` sees what was withdrawn before, or its hazard is seen here: both
  // are in the one order of all sequentially consistent operations.
  entry.admitted.fetch_or(0, std::memory_order_seq_cst);
  const std::uint64_t hazard = accessor.hazard.load(std::memory_order_seq_cst);
  if (!is_here(hazard)) return;
  const bool waited_before = entry.revoked.load(std::memory_order_relaxed) == hazard;
  if (!waited_before && changes_soon(accessor.hazard, hazard)) return;
  entry.revoked.store(hazard, std::memory_order_seq_cst);
  if (limit == kNever) limit = now_() + patience_;
  const bool knows_threads = accessor.mapped && accessor.pid_space == own_.pid_space;
  const pid_t thread = HazardWord::thread(hazard);
  while (accessor.hazard.load(std::memory_order_seq_cst) == hazard) {
    if (knows_threads && (is_gone(thread) || (accessor.revocable && is_stopped(thread)))) return;
    if (accessor.mapped && accessor.revocable && now_() >= limit) return expel(accessor, hazard);
    wait_a_moment(accessor.hazard, hazard);
  }
}

void HazardDomain::expel(Accessor& accessor, std::uint64_t hazard) {
  accessor.expelled = true;
  own_.accessors[accessor.lane].admitted.store(0, std::memory_order_seq_cst);
  explain({.reason = because(ReasonId::visitor_expelled, accessor.lane, HazardWord::thread(hazard),
                             patience_ / std::chrono::milliseconds(1))});
}

}  // namespace softrnic::samehost
