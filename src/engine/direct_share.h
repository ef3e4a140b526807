// What this process lets its neighbours see and do: its side of direct_layout.h.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "base/unique_fd.h"
#include "control/direct_locks.h"
#include "engine/direct_layout.h"
#include "engine/direct_segments.h"
#include "link/remote_memory.h"
#include "rnic/key_table.h"
#include "rnic/queue_pair.h"

namespace softrnic::engine {

class DirectShare final : public rnic::KeyMirror {
 public:
  /// For up to `lanes` lanes. nullptr: there is no memory for it. `files`: what of registered memory neighbours may map.
  static std::unique_ptr<DirectShare> make(std::uint32_t lanes, ShareFiles files = ShareFiles::fixed);
  /// After all lanes are gone.
  ~DirectShare();
  DirectShare(const DirectShare&) = delete;
  DirectShare& operator=(const DirectShare&) = delete;

  /// The memfd for the daemon.
  int fd() const { return fd_.get(); }
  /// With the locks that the daemon gave for it, neighbours may come: keys are shown from now on.
  void begin(control::DirectLocks locks);
  /// Whether begin() has been called. Queue pairs are shown only then.
  const control::DirectLocks& locks() const { return locks_; }
  std::uint64_t secret() const { return memory_.header().secret; }
  const DirectMemory& memory() const { return memory_; }

  /// What a lane has here.
  struct LanePlace {
    std::uint32_t index = 0;  ///< in the header's list
    DirectQp* rows = nullptr;
    DirectAck* acks = nullptr;
    DirectInbox* inbox = nullptr;
    RobustMutex* life = nullptr;  ///< to be held by the thread of the lane while it runs
  };
  /// Room for a new lane; nothing: there is no more.
  std::optional<LanePlace> add_lane(std::uint8_t number);
  std::optional<LanePlace> find_lane(std::uint8_t number) const;
  /// The ring from lane `visitor` to the lane at `index`, mapped once for the whole process; nullptr: there is no room.
  link::PacketRing* ring(std::uint32_t index, std::uint8_t visitor);
  /// With the lock of the lane: shows a queue pair as it is now, after the last visit to what was shown before.
  void show(DirectQp& row, const rnic::QueuePair& qp);
  void hide(DirectQp& row);
  /// Returns when everybody who is inside now has left, or is stopped and will not access anything when it goes on. Not from
  /// within a visit.
  void wait_for_visitors();

  // ---- rnic::KeyMirror
  void show(const rnic::KeyEntry& entry) override;
  void hide(MemoryKey key) override;

  /// In a forked child, which has none of this memory: nothing is shown any more.
  void forget();

 private:
  DirectShare(UniqueFd fd, link::Gate gate, DirectMemory memory, std::size_t bytes, ShareFiles files);
  void wait_for(DirectVisitor& visitor) const;
  DirectKey* place_of(MemoryKey key) const;
  void replace(DirectKey& place, const DirectKeyBody& body);
  LanePlace place_at(std::uint32_t index) const;
  std::uint32_t next_generation();

  UniqueFd fd_;
  link::Gate gate_;
  DirectMemory memory_;
  std::size_t bytes_;
  std::atomic<std::uint32_t> generations_{0};  ///< of all rows
  const std::uint32_t space_;                  ///< the PID namespace of this process
  control::DirectLocks locks_;
  std::unique_ptr<DirectSegments> segments_;
  std::mutex rings_mutex_;
  std::map<std::size_t, link::PacketRing*> rings_;  ///< by offset
};

}  // namespace softrnic::engine
