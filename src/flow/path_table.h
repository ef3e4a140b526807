// The windows of a lane, one for each peer lane.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>

#include "flow/peer_credit.h"
#include "transport/ib/path_window.h"
#include "wire/gid.h"

namespace softrnic::flow {

/// A window, and what is known of the way to the peer.
struct Path final : ib::PathWindow {
  /// As much as the kernel takes in one datagram of packets of 1024, 2048 or 4096 bytes (link/tx_batch.h): a
  /// window that is full then does not leave a part of a datagram behind.
  static constexpr std::uint32_t kLongestPacket = 62 * 1024;

  Path() : PathWindow(Limits{.longest_packet = kLongestPacket}) {}

  bool watched = false;  ///< CreditMessages know of it
  std::unique_ptr<PeerCredit> credit;
  bool resolved = false;         ///< local: which way it goes is known
  TimePoint decide_at = kNever;  ///< undecided: until then
  std::uint8_t lane = 0;         ///< of the peer
};

class PathTable {
 public:
  /// The path to `destination`'s lane; made at first use, lives as long as the table.
  Path& path(const wire::Gid& destination, std::uint8_t peer_lane);
  /// The same if there is one, else nullptr.
  Path* find(const wire::Gid& destination, std::uint8_t peer_lane);
  std::size_t size() const { return paths_.size(); }
  template <typename F>
  void for_each(F&& f) {
    for (auto& [key, path] : paths_) f(*path);
  }

 private:
  struct Key {
    wire::Gid destination;
    std::uint8_t lane;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const;
  };

  std::unordered_map<Key, std::unique_ptr<Path>, KeyHash> paths_;
};

}  // namespace softrnic::flow
