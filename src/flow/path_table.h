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
///
/// What holds UC and UD back follows from the way that packets take and from nothing else: not from what has
/// used the path before, nor from what was known first.
struct Path final : ib::PathWindow {
  /// As much as the kernel takes in one datagram of packets of 1024, 2048 or 4096 bytes (link/tx_batch.h): a
  /// window that is full then does not leave a part of a datagram behind.
  static constexpr std::uint32_t kLongestPacket = 62 * 1024;

  Path() : PathWindow(Limits{.longest_packet = kLongestPacket}) {}

  /// Packets take a ring: one carries up to `longest_packet` bytes, and `window` bytes of RC may be in
  /// flight. UC and UD go by `room`, which outlives the path.
  void go_by_ring(ib::Gauge& room, std::uint32_t longest_packet, std::uint32_t window);
  /// Packets take the network, as they do at first. UC and UD go by the credit if there is one, else by a
  /// rate.
  void go_by_network();
  /// UC or UD use the path, and the peer's lane can be asked.
  void set_credit(std::unique_ptr<PeerCredit> credit);
  /// nullptr: none was set.
  PeerCredit* credit() const { return credit_.get(); }

  bool resolved = false;         ///< local: which way it goes is known
  TimePoint decide_at = kNever;  ///< undecided: until then
  std::uint8_t lane = 0;         ///< of the peer

 private:
  using PathWindow::observe;
  using PathWindow::set_memory;
  void choose_gauge();

  ib::Gauge* ring_ = nullptr;  ///< packets take it
  std::unique_ptr<PeerCredit> credit_;
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
