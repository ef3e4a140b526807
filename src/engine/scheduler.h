// Which endpoint of a lane sends next.
//
//   touched   something happened to it: it is asked once, and again while it has more than a burst to send
//   waiting   its path's window is full: it stands in its path's line, and costs nothing until its turn
//
// Endpoints take turns of kBurstBytes. While others stand in line for a path, an endpoint that is touched may answer
// its peer (ACKs, read responses) but its requests go to the end of the line: without that, those whose ACKs come in
// would take all the room and the others would never start.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "transport/ib/endpoint.h"

namespace softrnic::engine {

/// Takes the packets that the scheduler gets out of endpoints.
class PacketSink {
 public:
  virtual void transmit(ib::Endpoint& endpoint, const ib::TxPacket& packet) = 0;

 protected:
  ~PacketSink() = default;
};

class Scheduler {
 public:
  static constexpr std::size_t kBurstBytes = 64 * 1024;

  Scheduler();
  ~Scheduler();

  /// The window to `destination`'s lane; it lives as long as the scheduler. All windows of endpoints that are given to
  /// this scheduler come from here, or are nullptr.
  ib::PathWindow& window(const wire::Gid& destination, std::uint8_t peer_lane);

  /// Something happened to the endpoint: it is to be asked for packets.
  void touch(ib::Endpoint& endpoint);
  /// Forgets the endpoint.
  void remove(ib::Endpoint& endpoint);

  /// Asks endpoints for packets until none has any, or about `packets` were sent. After each turn of an endpoint
  /// `after(endpoint)` is called. Returns the number of packets sent.
  template <typename After>
  std::size_t run(PacketSink& sink, TimePoint now, std::size_t packets, After&& after) {
    std::size_t sent = 0;
    while (sent < packets) {
      bool turn = false;
      ib::Endpoint* endpoint = next(turn);
      if (endpoint == nullptr) break;
      sent += serve(*endpoint, turn, sink, now);
      after(*endpoint);
    }
    end_round();
    return sent;
  }

  /// Whether run() left something to do.
  bool has_work() const { return touched_count_ != 0 || any_path_open(); }
  /// Whether some endpoint stands in line for a window.
  bool has_waiting() const { return !waiting_paths_.empty(); }

 private:
  struct Path;
  struct Key {
    wire::Gid destination;
    std::uint8_t lane;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const;
  };

  ib::Endpoint* next(bool& turn);
  ib::Endpoint* next_waiting();
  std::size_t serve(ib::Endpoint& endpoint, bool turn, PacketSink& sink, TimePoint now);
  void end_round();
  bool any_path_open() const;
  void enqueue(Path& path, ib::Endpoint& endpoint);
  void dequeue(ib::Endpoint& endpoint);

  std::unordered_map<Key, std::unique_ptr<Path>, KeyHash> paths_;
  std::vector<Path*> waiting_paths_;  ///< those with somebody in line
  std::size_t next_path_ = 0;
  std::vector<ib::Endpoint*> touched_;  ///< from first_touched_ on; nullptr: was removed
  std::size_t first_touched_ = 0;
  std::size_t touched_count_ = 0;
  ib::TxPacket packet_;
};

}  // namespace softrnic::engine
