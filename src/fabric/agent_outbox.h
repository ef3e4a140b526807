// What the agents send when there is no room in their node at the moment: it waits until there is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <unordered_map>

#include "fabric/management_datagram.h"
#include "fabric/types.h"

namespace softrnic::fabric {

class Engine;

class AgentOutbox {
 public:
  static constexpr std::size_t kCapacity = 16'384;    ///< packets of all nodes, of some 330 bytes each
  static constexpr std::size_t kQueueCapacity = 256;  ///< of a node

  explicit AgentOutbox(Engine& engine) : engine_(engine) {}

  /// Engine::send(), at once or later, in order. False: it is dropped, as a port is down or too much waits.
  bool send(PortId via, const DatagramPacket& packet);
  /// ManagementSink::on_room().
  void on_room(PortId port);
  std::size_t waiting() const { return waiting_; }

 private:
  struct Entry {
    PortId via;
    DatagramPacket packet;
  };
  /// Management and data have room of their own.
  using Key = std::uint64_t;
  static Key key_of(PortId room, bool management) { return Key{room.value} << 1 | (management ? 1U : 0U); }
  /// Whose on_room() tells that `via` has some.
  PortId room_of(PortId via) const;
  void drain(Key key);
  enum class Outcome : std::uint8_t { sent, waits, dropped };
  Outcome try_send(PortId via, const DatagramPacket& packet);

  Engine& engine_;
  std::unordered_map<Key, std::deque<Entry>> queues_;  ///< none is empty
  std::size_t waiting_ = 0;
};

}  // namespace softrnic::fabric
