// What a subnet manager has to tell of its subnet: for a log, and for whoever watches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "mad/notice.h"
#include "mad/sm_info.h"
#include "subnet/deadlock_check.h"
#include "subnet/directed_path.h"
#include "subnet/graph.h"

namespace softrnic::subnet {

/// A port of a node as people name it.
struct PortName {
  Guid node;
  std::uint8_t port = 0;

  bool operator==(const PortName&) const = default;
};

namespace event {

struct NodeAppeared {
  Guid node;
  NodeType type{};
  std::string description;
};
struct NodeDisappeared {
  Guid node;
  std::string description;
};
struct LinkAppeared {
  PortName from, to;
};
struct LinkLost {
  PortName from, to;
};
/// Nothing answers along this route, or a node does not tell all that was asked.
struct NoAnswer {
  DirectedPath path;
  std::uint16_t attribute = 0;
};
/// An answer that cannot be: a node without ports, of no known type, or that changes while it is asked.
struct BadAnswer {
  DirectedPath path;
  std::uint16_t attribute = 0;
};
/// Two nodes say the same GUID, or a cable was moved while the sweep passed.
struct DuplicateGuid {
  Guid guid;
  PortName seen_from, seen_from_too;
};
/// A sweep ended before all was found.
struct SweepLimit {
  std::size_t nodes = 0;
};
struct SweepDone {
  std::size_t nodes = 0, switches = 0, end_ports = 0;
  std::uint64_t requests = 0;
  bool all_answered = true;
};
/// A port did not take what it was told.
struct SettingRefused {
  PortName port;
  std::uint16_t attribute = 0;
  std::uint32_t modifier = 0;
  std::uint16_t status = 0;  ///< 0: no answer
};
struct RoutingChanged {
  std::string engine;
  std::size_t switches = 0, blocks = 0;  ///< that are sent anew
};
struct RoutesMissing {
  std::uint64_t routes = 0;  ///< pairs of ports that cannot reach each other
};
struct DeadlockRisk {
  std::string cycle;
};
struct RoutingFailed {
  std::string engine;
};
struct LidsExhausted {};
struct PartitionOverflow {
  Guid port;  ///< its P_Key table is too short
};
struct StateChanged {
  mad::SmState from{}, to{};
};
struct ManagerFound {
  Guid port;
  mad::SmInfo info;
};
struct HandedOver {
  Guid to;
};
struct TrapReceived {
  mad::Notice notice;
};
struct SubnetUp {
  std::size_t active_ports = 0;
  bool first = false;  ///< since this manager is master
};
struct GroupCreated {
  wire::Gid mgid;
  Lid mlid;
};
struct GroupDeleted {
  wire::Gid mgid;
  Lid mlid;
};

}  // namespace event

using Event =
    std::variant<event::NodeAppeared, event::NodeDisappeared, event::LinkAppeared, event::LinkLost,
                 event::NoAnswer, event::BadAnswer, event::DuplicateGuid, event::SweepLimit, event::SweepDone,
                 event::SettingRefused, event::RoutingChanged, event::RoutesMissing, event::DeadlockRisk,
                 event::RoutingFailed, event::LidsExhausted, event::PartitionOverflow, event::StateChanged,
                 event::ManagerFound, event::HandedOver, event::TrapReceived, event::SubnetUp,
                 event::GroupCreated, event::GroupDeleted>;

class EventSink {
 public:
  virtual ~EventSink() = default;
  virtual void notify(const Event& event) = 0;
};

/// One line; for people.
std::string to_string(const Event& event);

}  // namespace softrnic::subnet
