// The engine that moves packets through switches, cables and ports of adapters (docs/design/infiniband.md).
//
// A packet waits in the buffer of its VL at the port where it came in. The head of each buffer bids at its
// output port; the port's arbiter chooses a VL that has a bid and credits for it, and the packet moves to the
// buffer at the other end of the cable, which gives back credits when it is freed. The side of an adapter's
// port that faces the host, and port 0 of a switch, are ports like the others, without a cable.
//
// Pure: time comes in by advance(), chance by Dice; the same calls give the same packets in the same order.
#pragma once

#include <deque>
#include <span>

#include "base/expected.h"
#include "fabric/engine_node.h"
#include "fabric/event_queue.h"
#include "fabric/link.h"
#include "fabric/sinks.h"

namespace softrnic::fabric {

struct Limits {
  PacketPool::Limits packets{};
  std::uint32_t ports = 1U << 17;  ///< internal ones included; each takes some 3 KB
};

/// Memory of a port: this many blocks of 64 bytes for each VL; an adapter's has as many for what its host
/// sends, and so has port 0 of a switch.
struct BufferSizes {
  std::uint16_t data = 256;       ///< of each data VL; from kMaxPacketBlocks to kMaxCredit
  std::uint16_t management = 64;  ///< of VL15; at least kMinManagementBlocks
};

/// A datagram of management is 256 bytes and its headers.
inline constexpr std::uint16_t kMinManagementBlocks = 8;

enum class BuildError : std::uint8_t {
  too_many_ports,  ///< more than kMaxPorts at a node, none, or more than Limits
  bad_size,        ///< a buffer that does not hold the longest packet, or more than credits can tell
  unknown_port,
  already_connected,
  busy,  ///< called from a sink
};

enum class SendError : std::uint8_t {
  unknown_port,
  malformed,  ///< read_packet() refuses it
  port_down,  ///< the port is not in a state that sends such packets
  no_vl,      ///< the port maps the SL to no VL
  no_room,    ///< HostSink::on_room() will tell
  no_memory,  ///< Limits::packets
};

/// A cable that leaves the engine.
struct RemoteCable {
  PortId remote;  ///< stands for the port at its far end
  LinkId link;
};

class Engine {
 public:
  Engine(const Limits& limits, const Surroundings& surroundings)
      : limits_(limits), surroundings_(surroundings), pool_(limits.packets) {}
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Building. Nodes and links stay as long as the engine.
  Expected<NodeId, BuildError> add_switch(std::uint8_t ports, const BufferSizes& sizes);
  Expected<NodeId, BuildError> add_adapter(std::uint8_t ports, const BufferSizes& sizes);
  /// The link comes up at once: both ports are in state init.
  Expected<LinkId, BuildError> connect(PortId a, PortId b, const Rate& rate, Duration delay);

  /// A cable whose far end is not in this engine. It is up while the near port is enabled, the cable plugged
  /// in, and the remote port enabled: by its keeper (fabric/remote_link.h), when the far end has agreed. A
  /// link that goes down disables it. The near port gets the largest buffers that credits can tell.
  Expected<RemoteCable, BuildError> connect_remote(PortId port, const Rate& rate, Duration delay);

  // Looking. Null where there is none.
  const EngineNode* node(NodeId id) const;
  const EnginePort* port(PortId id) const;
  const EnginePort* port(NodeId node, std::uint8_t number) const;
  const Link* link(LinkId id) const;
  const std::deque<EnginePort>& ports() const { return ports_; }
  const PacketPool& packets() const { return pool_; }
  TimePoint now() const { return now_; }

  // What agents set. False: there is no such port, or it has no such setting.
  bool set_attributes(PortId id, const PortAttributes& attributes);
  /// What SubnSet(PortInfo) may: armed from init, active from armed, and down, from where the link comes up
  /// anew (IBTA 14.2.5.6). Port 0 is always active.
  bool set_state(PortId id, PortState state);
  /// PortPhysicalState disabled, or polling.
  bool set_enabled(PortId id, bool enabled);
  /// `from`: the number of the input port; 0 of an adapter.
  bool set_sl_to_vl(PortId id, std::uint8_t from, const SlToVl& vls);
  bool set_partitions(PortId id, std::span<const std::uint16_t> pkeys);
  /// To set its tables, before the next advance().
  VlArbiter* arbiter(PortId id);
  /// As of now; the PMA may change them.
  PortCounters* counters(PortId id);
  ForwardingTables* forwarding(NodeId switch_node);
  /// LifeTimeValue of SwitchInfo.
  bool set_lifetime(NodeId switch_node, std::uint8_t value);

  // Packets, LRH to ICRC; the VL in the LRH counts only where it is 15.
  /// From the host or the agents of an adapter through its port `via`; from the agents of a switch, where the
  /// tables lead when `via` is port 0, or else out of `via`. Times are those of the latest advance().
  Expected<void, SendError> send(PortId via, Bytes packet);
  /// The host takes packets again.
  void resume(PortId port);

  // What has come from the far end of a cable that leaves the engine: nothing of it is trusted.
  /// LRH to ICRC, with the VL of the cable in the LRH; dropped while the link is down. `damaged`: it came,
  /// but not whole. False: it is no packet, or there is no such port.
  bool hear(PortId remote, Bytes packet, bool damaged = false);
  bool hear(PortId remote, const wire::FlowControlPacket& packet);

  // Time.
  static constexpr std::uint32_t kSteps = 1U << 16;
  /// Does what is due up to `now`, at most so many steps: packets can circle for ever. Does nothing when
  /// called from a sink.
  void advance(TimePoint now, std::uint32_t steps = kSteps);
  /// When advance() is to be called again: the time that it was given when not all was done.
  TimePoint next_deadline() const {
    return first_ready_ != nullptr || !room_.empty() ? now_ : events_.next_time();
  }

  // Faults. Of a cable that leaves the engine: packets both ways, and flow control that leaves.
  bool set_connected(LinkId id, bool connected);
  bool set_rate(LinkId id, const Rate& rate);
  bool set_faults(LinkId id, const LinkFaults& faults);

 private:
  // engine.cc
  EnginePort* find(PortId id);
  void step(const Event& event);
  EnginePort* next_ready();
  void mark_ready(EnginePort& port);
  void serve(EnginePort& port);
  void tell_room();

  // engine_build.cc
  Expected<NodeId, BuildError> add_node(NodeKind kind, std::uint8_t ports, const BufferSizes& sizes);
  LinkId tie(EnginePort& a, EnginePort& b, const Rate& rate, Duration delay);
  EnginePort* add_port(NodeId node, std::uint8_t number, PortKind kind, const BufferSizes& sizes);

  // engine_links.cc
  void update_link(Link& link);
  void bring_up(Link& link);
  void take_down(Link& link);
  void enter(EnginePort& port, PortState state);
  void drop_bids_that_may_not_leave(EnginePort& port);

  // engine_receive.cc
  void arrive(EnginePort& port, Packet* packet);
  bool admits_in(EnginePort& port, const Packet& packet);
  void tell_fault(const EnginePort& port, PortFault fault, const Packet* packet);
  void enqueue(InputBuffer& buffer, Packet* packet);

  // engine_remote.cc
  EnginePort* find_remote(PortId id);
  void leave(EnginePort& remote, Packet* packet);

  // engine_forward.cc
  void start_head(InputBuffer& buffer);
  bool bid_for_head(InputBuffer& buffer);
  bool bid_in_adapter(InputBuffer& buffer);
  bool bid_for_multicast(InputBuffer& buffer);
  bool bid_at(InputBuffer& buffer, EnginePort* output);
  bool admits_out(EnginePort& output, const Packet& packet, std::uint8_t vl);
  void push_bid(InputBuffer& buffer, EnginePort& output, std::uint8_t vl, TimePoint deadline);
  void unqueue(Bid* bid);
  void refresh(EnginePort& output, std::uint8_t vl);
  Packet* take(Bid* bid);
  void drop(Bid* bid);
  void release(Bid* bid);
  Packet* free_head(InputBuffer& buffer);

  // engine_transmit.cc
  void transmit(EnginePort& output, std::uint8_t vl);
  void put_on_link(EnginePort& output, Packet* packet);
  void deliver(EnginePort& internal, std::uint8_t vl);
  bool hand_over(EnginePort& internal, const InputBuffer& buffer);
  bool hand_to_host(EnginePort& internal, PortId port, const Packet& packet);
  bool happens(double chance);

  // engine_flow_control.cc
  void owe_flow_control(EnginePort& port, std::uint8_t vl);
  void send_flow_control(EnginePort& port);
  void send_flow_control(EnginePort& port, std::uint8_t vl);
  void hear_flow_control(EnginePort& port, const wire::FlowControlPacket& packet);
  void repeat_flow_control(EnginePort& port, std::uint8_t vl);

  // engine_lifetime.cc
  TimePoint deadline_at(const EnginePort& output, const Packet& packet, std::uint8_t vl) const;
  void watch(EnginePort& output, TimePoint deadline);
  void renew_deadlines(EnginePort& output);
  void drop_expired(EnginePort& output);
  TimePoint drop_expired(EnginePort& output, std::uint8_t vl);
  void count_expired(EnginePort& output, const Bid& bid);

  Limits limits_;
  Surroundings surroundings_;
  PacketPool pool_;
  BidPool bid_pool_;
  std::deque<EngineNode> nodes_;
  std::deque<EnginePort> ports_;
  std::deque<Link> links_;
  EventQueue events_;
  std::vector<EnginePort*> room_;  ///< whose senders are to be told of it
  EnginePort* first_ready_ = nullptr;
  EnginePort* last_ready_ = nullptr;
  TimePoint now_{};
  bool running_ = false;
};

}  // namespace softrnic::fabric
