// A neighbour: the lane of another process of this host (or of this one), as far as it lets others act for it.
#pragma once

#include <memory>
#include <optional>

#include "base/expected.h"
#include "base/unique_fd.h"
#include "engine/direct_layout.h"
#include "engine/direct_share.h"
#include "link/remote_memory.h"

namespace softrnic::engine {

using DirectState = control::PathChoice;

class DirectPeer {
 public:
  /// The neighbour that shares `memory` and holds lane `number`, for visits from lane `visitor` of the process of `own`.
  /// The error is why there is none.
  static Expected<std::unique_ptr<DirectPeer>, DirectState> meet(const UniqueFd& memory, std::uint8_t number,
                                                                 std::uint8_t visitor,
                                                                 const DirectShare& own);
  ~DirectPeer();
  DirectPeer(const DirectPeer&) = delete;
  DirectPeer& operator=(const DirectPeer&) = delete;

  /// In a forked child, where it is not mapped.
  void forget() { bytes_ = 0; }

  /// Names the memory: another number is another process.
  std::uint64_t secret() const { return memory_.header().secret; }

  /// As long as it lives, rows and keys that were found good stay so, and so does the memory behind them.
  class Visit {
   public:
    explicit Visit(DirectPeer& peer) : place_(peer.place_), inside_(place_.inside.try_lock()) {}
    ~Visit() {
      if (inside_) place_.inside.unlock();
    }
    Visit(const Visit&) = delete;
    Visit& operator=(const Visit&) = delete;
    /// False: the neighbour is just waiting for its visitors to leave.
    explicit operator bool() const { return inside_; }

   private:
    DirectVisitor& place_;
    bool inside_;
  };

  // ---- during a visit
  DirectQp& row(Qpn qpn) const { return rows_[qpn.index()]; }
  /// Where `bytes` bytes at `address` lie in the neighbour's process, if the key allows it.
  std::optional<std::uint64_t> find(MemoryKey key, std::uint64_t pd, std::uint64_t address,
                                    std::uint64_t bytes, std::uint32_t access) const;
  const link::RemoteMemory& remote() const { return remote_; }

 private:
  DirectPeer(DirectMemory memory, std::size_t bytes, DirectQp& rows, std::uint8_t visitor,
             link::RemoteMemory remote);

  DirectMemory memory_;
  std::size_t bytes_;  ///< mapped by this object; 0: not by it
  DirectQp* rows_;
  DirectVisitor& place_;
  link::RemoteMemory remote_;
};

}  // namespace softrnic::engine
