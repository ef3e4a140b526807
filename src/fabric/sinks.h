// Whom the engine tells of packets and changes. They may call the engine, but not Engine::advance() and the
// functions that build. Bytes that they are given are valid during the call.
#pragma once

#include "fabric/packet.h"
#include "fabric/types.h"
#include "wire/flow_control_packet.h"

namespace softrnic::fabric {

/// What managers hear of in traps 129, 130 and 259 (IBTA 14.2.5.1).
enum class PortFault : std::uint8_t {
  physical_error,  ///< something came in damaged
  buffer_overrun,  ///< a packet came in for which there was no room
  bad_p_key,       ///< a packet was kept out, or in, by the port's partitions
};

/// The agents of all nodes: SMA, PMA and what else owns QP0 and QP1.
class ManagementSink {
 public:
  virtual ~ManagementSink() = default;
  /// A packet that came to port 0 of a switch, or to an adapter's port for QP0 or QP1. `port` is where it
  /// entered the node; packets that a node sent to itself come by port 0 of a switch, or by the adapter's
  /// port. False, of an adapter: it is the host's.
  virtual bool on_packet(PortId port, const Packet& packet) = 0;
  virtual void on_state(PortId port, PortState state) = 0;
  /// Engine::send() has found no room, and now there may be some; it may have been the host's.
  virtual void on_room(PortId port) = 0;
  /// Counted already; the packet, null of flow control, is dropped next. May look at the engine, not call it.
  virtual void on_fault(PortId /*port*/, PortFault /*fault*/, const Packet* /*packet*/) {}
};

/// The hosts.
class HostSink {
 public:
  virtual ~HostSink() = default;
  /// False: the host cannot take it now; it stays, and all behind it, until Engine::resume(). Of VL15, which
  /// has no flow control, it is dropped.
  virtual bool on_packet(PortId port, const Packet& packet) = 0;
  /// Engine::send() has found no room, and now there may be some.
  virtual void on_room(PortId port) = 0;
};

/// Sees every packet that leaves a port by its cable: for captures and traces.
class Tap {
 public:
  virtual ~Tap() = default;
  virtual void on_packet(PortId port, const Packet& packet, TimePoint when) = 0;
  virtual void on_flow_control(PortId, const wire::FlowControlPacket&, TimePoint) {}
};

/// Carries what leaves the engine by a cable whose far end, a remote port, is elsewhere.
class RemoteSink {
 public:
  virtual ~RemoteSink() = default;
  /// `packet.damaged`: it is damaged where it arrives.
  virtual void carry(PortId remote, const Packet& packet) = 0;
  virtual void carry(PortId remote, const wire::FlowControlPacket& packet) = 0;
  /// The link has come up or gone down, or its near end is ready to come up, or is not any more. Each change
  /// is told, and may be told twice.
  virtual void on_link(PortId remote) = 0;
};

/// What chance decides: from 0 to below 1. Asked only on links with faults.
class Dice {
 public:
  virtual ~Dice() = default;
  virtual double roll() = 0;
};

/// Each may be missing: packets for it are dropped, and no fault happens.
struct Surroundings {
  ManagementSink* management = nullptr;
  HostSink* hosts = nullptr;
  Tap* tap = nullptr;
  Dice* dice = nullptr;
  RemoteSink* remotes = nullptr;
};

}  // namespace softrnic::fabric
