// What this process lets its local peers see and do: its side of direct_layout.h.
#pragma once

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "base/lane_limits.h"
#include "base/unique_fd.h"
#include "control/shared_memory.h"
#include "rnic/key_table.h"
#include "rnic/queue_pair.h"
#include "samehost/atomic_locks.h"
#include "samehost/direct_layout.h"
#include "samehost/direct_segments.h"
#include "samehost/hazard_domain.h"
#include "samehost/remote_memory.h"

namespace softrnic::samehost {

class DirectShare final : public rnic::KeyMirror {
 public:
  /// For up to `lanes` lanes. nullptr: there is no memory for it. `files`: what of registered
  /// memory local peers may map.
  static std::unique_ptr<DirectShare> make(std::uint32_t lanes, ShareFiles files = ShareFiles::fixed);
  /// After all lanes are gone.
  ~DirectShare();
  DirectShare(const DirectShare&) = delete;
  DirectShare& operator=(const DirectShare&) = delete;

  /// The memfds for the daemon: DirectMemory, and InboxMemory with the rings.
  int fd() const { return fd_.get(); }
  int inbox_fd() const { return inbox_fd_.get(); }
  /// With the locks that the daemon gave for it, local peers may come: keys are shown from now on.
  void begin(DirectLocks locks);
  /// Whether begin() has been called. Queue pairs are shown only then.
  const DirectLocks& locks() const { return locks_; }
  std::uint64_t secret() const { return memory_.header().secret; }
  const DirectMemory& memory() const { return memory_; }
  const InboxMemory& inboxes() const { return inboxes_; }
  /// Who may access this process.
  HazardDomain& guard() { return *guard_; }
  /// Whether the process that holds the lane may, as far as is known without a lock.
  bool admits(std::uint8_t lane) const {
    return memory_.header().accessors[lane].admitted.load(std::memory_order_relaxed) != 0;
  }

  /// What a lane has here.
  struct LaneSlot {
    std::uint32_t index = 0;  ///< in the header's list
    DirectQp* qps = nullptr;
    RingReception* reception = nullptr;
    EagerAck* acks = nullptr;
    RingInbox* inbox = nullptr;
    RobustMutex* life = nullptr;   ///< to be held by the thread of the lane while it runs
    HazardSlot* hazard = nullptr;  ///< of the lane's accesses
  };
  /// Room for a new lane; nothing: there is no more.
  std::optional<LaneSlot> add_lane(std::uint8_t number);
  std::optional<LaneSlot> find_lane(std::uint8_t number);
  /// The ring from lane `accessor` to the lane at `index`, mapped once for the whole process;
  /// nullptr: there is no room.
  PacketRing* ring(std::uint32_t index, std::uint8_t accessor);
  /// With the lock of the lane: shows a queue pair as it is now, after the last access to what was shown
  /// before.
  void publish(DirectQp& entry, const rnic::QueuePair& qp);
  void withdraw(DirectQp& entry);
  /// HazardDomain::wait().
  void wait_for_accessors();

  // ---- rnic::KeyMirror
  void publish(const rnic::KeyEntry& entry) override;
  void withdraw(MemoryKey key) override;

  /// In a forked child, which has none of this memory: nothing is shown any more.
  void forget();

 private:
  DirectShare(control::OwnedMemory own, UniqueFd inbox_fd, InboxMemory inboxes, Cookie cookie,
              std::uint32_t lanes, ShareFiles files);
  DirectKey* entry_of(MemoryKey key) const;
  void replace(DirectKey& entry, const DirectKeyBody& body);
  LaneSlot slot_at(std::uint32_t index);
  std::uint32_t next_generation();

  UniqueFd fd_, inbox_fd_;
  Cookie cookie_;
  DirectMemory memory_;
  InboxMemory inboxes_;
  const std::uint32_t lanes_;
  std::unique_ptr<HazardDomain> guard_;
  std::array<HazardSlot, kProcessLanes> hazards_;
  std::atomic<std::uint32_t> generations_{0};  ///< of all queue pairs
  DirectLocks locks_;
  std::unique_ptr<DirectSegments> segments_;
  std::mutex rings_mutex_;
  std::map<std::size_t, PacketRing*> rings_;  ///< by offset
};

}  // namespace softrnic::samehost
