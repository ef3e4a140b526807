// Who is at the memory of a process just now, so that it can wait for them when it withdraws
// something: a grace period, as in RCU. (A hazard word names an access, and no object.)
//
// Before a lane looks at a queue pair or a key of another process it says whom it accesses, in memory that
// its own process alone can write (HazardSlot), and takes that back after its last access. Whoever
// withdraws a queue pair or a key does so first and looks at the hazards of all accessors then
// (HazardDomain): so nobody accesses memory after its deregistration has returned. A process
// accesses only who has admitted it, and that one does so once it sees its hazards.
//
// There is no lock that somebody else could hold or destroy, and no word that both sides write. From
// accessors that are stopped the owner revokes what they were at (revocable_access.h); those that are
// dead it need not fear. One that does not leave is waited for only so long, and is let in no more then.
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include "base/clock.h"
#include "base/lane_limits.h"
#include "base/thread_number.h"
#include "base/time.h"
#include "base/unique_fd.h"
#include "samehost/direct_layout.h"

namespace softrnic::samehost {

/// The words of DirectHazard: number of the access (34 bits) | thread (22 bits: PID_MAX_LIMIT) | lane
/// that is accessed (8 bits).
struct HazardWord {
  static constexpr unsigned kLaneBits = 8, kThreadBits = 22;

  static constexpr std::uint64_t of(std::uint64_t number, pid_t thread, std::uint8_t lane) {
    return (number << kThreadBits | static_cast<std::uint32_t>(thread)) << kLaneBits | lane;
  }
  static constexpr std::uint8_t lane(std::uint64_t word) { return static_cast<std::uint8_t>(word); }
  static constexpr pid_t thread(std::uint64_t word) {
    return static_cast<pid_t>(word >> kLaneBits & ((1U << kThreadBits) - 1));
  }
};

/// The accesses of a lane of this process, one at a time. Guarded by the lane's lock.
class HazardSlot {
 public:
  void lie_in(DirectHazard& slot) { slot_ = &slot; }
  /// What the lane's owner has withdrawn before is seen after this, or the owner sees this;
  /// see HazardDomain::wait().
  void enter(std::uint8_t lane) {
    slot_->word.exchange(HazardWord::of(++number_, thread_number(), lane), std::memory_order_seq_cst);
  }
  void leave() { slot_->word.store(0, std::memory_order_release); }
  const std::atomic<std::uint64_t>& word() const { return slot_->word; }

 private:
  DirectHazard* slot_ = nullptr;
  std::uint64_t number_ = 0;
};

/// The accessors of this process. Thread-safe.
class HazardDomain {
 public:
  /// A withdrawal does not wait longer for accessors that can be revoked. Long against the time that an
  /// overloaded host keeps a thread off the processor, and less than the retries of a queue pair with a usual
  /// timeout (14: 8 × 67 ms).
  static constexpr Duration kPatience = std::chrono::milliseconds(400);

  using Clock = TimePoint (*)();

  /// For the process of this header, which outlives this object. `now`: a test has a time of its own.
  explicit HazardDomain(DirectHeader& own, Duration patience = kPatience, Clock now = monotonic_now);
  ~HazardDomain();
  HazardDomain(const HazardDomain&) = delete;
  HazardDomain& operator=(const HazardDomain&) = delete;

  /// The process that shares `memory`, in whose list the lane stands at `index`, may access this one by that
  /// lane. Waits for who held the lane before. False: it is one that was expelled, or cannot be looked at.
  bool admit(std::uint8_t lane, const UniqueFd& memory, std::uint32_t index);
  /// The same for a lane of this process.
  void admit_own(std::uint8_t lane, std::uint32_t index);
  /// Returns when everybody who is inside now has left, or will not access anything any more.
  /// Not from within an access.
  void wait();
  /// In a forked child, where nothing of this is mapped.
  void forget();

 private:
  /// What is known of one, from its header as it was when that was resolved.
  struct Accessor;

  void put(std::uint8_t lane, std::unique_ptr<Accessor> accessor);
  bool is_here(std::uint64_t hazard) const;
  bool changes_soon(const std::atomic<std::uint64_t>& word, std::uint64_t from) const;
  void wait_for(Accessor& accessor, TimePoint& limit);
  void expel(Accessor& accessor, std::uint64_t hazard);

  DirectHeader& own_;
  const Duration patience_;
  const Clock now_;
  std::mutex mutex_;
  std::array<std::unique_ptr<Accessor>, kLaneNumbers> accessors_;
};

}  // namespace softrnic::samehost
