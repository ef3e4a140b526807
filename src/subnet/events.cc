#include "subnet/events.h"

#include <array>
#include <cstdio>
#include <string_view>

#include "mad/attributes.h"

namespace softrnic::subnet {
namespace {

std::string hex(std::uint64_t value) {
  std::array<char, 19> text;
  std::snprintf(text.data(), text.size(), "0x%llx", static_cast<unsigned long long>(value));
  return text.data();
}
std::string name(Guid guid) { return hex(guid.value); }
std::string name(const PortName& port) { return name(port.node) + " port " + std::to_string(port.port); }

std::string attribute_name(std::uint16_t attribute) {
  const auto* const info = mad::find_attribute(mad::ManagementClass::subnet_lid_routed, attribute);
  return info != nullptr ? std::string(info->name) : "attribute " + hex(attribute);
}

std::string_view name(mad::SmState state) {
  constexpr std::array<std::string_view, 4> kNames = {"not active", "discovering", "standby", "master"};
  const auto code = static_cast<std::size_t>(state);
  return code < kNames.size() ? kNames[code] : "unknown";
}

std::string_view name(NodeType type) {
  constexpr std::array<std::string_view, 4> kNames = {"node", "channel adapter", "switch", "router"};
  const auto code = static_cast<std::size_t>(type);
  return code < kNames.size() ? kNames[code] : "node";
}

std::string count(std::size_t number, std::string_view what) {
  return std::to_string(number) + " " + std::string(what);
}

struct Printer {
  std::string operator()(const event::NodeAppeared& e) const {
    return std::string(name(e.type)) + " " + name(e.node) + " appeared: " + e.description;
  }
  std::string operator()(const event::NodeDisappeared& e) const {
    return "node " + name(e.node) + " disappeared: " + e.description;
  }
  std::string operator()(const event::LinkAppeared& e) const {
    return "link from " + name(e.from) + " to " + name(e.to) + " appeared";
  }
  std::string operator()(const event::LinkLost& e) const {
    return "link from " + name(e.from) + " to " + name(e.to) + " lost";
  }
  std::string operator()(const event::NoAnswer& e) const {
    return "no answer to " + attribute_name(e.attribute) + " along " + e.path.to_string();
  }
  std::string operator()(const event::BadAnswer& e) const {
    return "impossible " + attribute_name(e.attribute) + " along " + e.path.to_string();
  }
  std::string operator()(const event::DuplicateGuid& e) const {
    return "GUID " + name(e.guid) + " seen from " + name(e.seen_from) + " and from " + name(e.seen_from_too);
  }
  std::string operator()(const event::SweepLimit& e) const {
    return "sweep ended at its limit, with " + count(e.nodes, "nodes");
  }
  std::string operator()(const event::SweepDone& e) const {
    return "swept " + count(e.nodes, "nodes, ") + count(e.switches, "of them switches, ") +
           count(e.end_ports, "end ports with ") + count(e.requests, "requests") +
           (e.all_answered ? "" : ", not all answered");
  }
  std::string operator()(const event::SettingRefused& e) const {
    return name(e.port) + (e.status == 0 ? " does not answer " : " refuses ") + attribute_name(e.attribute) +
           " " + hex(e.modifier) + (e.status == 0 ? "" : " with status " + hex(e.status));
  }
  std::string operator()(const event::RoutingChanged& e) const {
    return "routing by " + e.engine + ": " + count(e.blocks, "blocks of ") + count(e.switches, "switches");
  }
  std::string operator()(const event::RoutesMissing& e) const {
    return count(e.routes, "pairs of ports have no route");
  }
  std::string operator()(const event::DeadlockRisk& e) const {
    return "routing can deadlock by a cycle of channels: " + e.cycle;
  }
  std::string operator()(const event::RoutingFailed& e) const { return "routing by " + e.engine + " failed"; }
  std::string operator()(const event::LidsExhausted&) const { return "not enough LIDs"; }
  std::string operator()(const event::PartitionOverflow& e) const {
    return "P_Key table of port " + name(e.port) + " is too short";
  }
  std::string operator()(const event::StateChanged& e) const {
    return "manager was " + std::string(name(e.from)) + ", is " + std::string(name(e.to));
  }
  std::string operator()(const event::ManagerFound& e) const {
    return "subnet manager on port " + name(e.port) + ", " + std::string(name(e.info.state)) + ", priority " +
           std::to_string(e.info.priority);
  }
  std::string operator()(const event::HandedOver& e) const {
    return "handed over to the manager on port " + name(e.to);
  }
  std::string operator()(const event::TrapReceived& e) const { return "trap: " + mad::describe(e.notice); }
  std::string operator()(const event::SubnetUp& e) const {
    return (e.first ? "subnet up for the first time, " : "subnet up, ") +
           count(e.active_ports, "active ports");
  }
  std::string operator()(const event::GroupCreated& e) const {
    return "multicast group " + e.mgid.to_string() + " created, LID " + hex(e.mlid.value);
  }
  std::string operator()(const event::GroupDeleted& e) const {
    return "multicast group " + e.mgid.to_string() + " deleted, LID " + hex(e.mlid.value);
  }
};

}  // namespace

std::string to_string(const Event& event) { return std::visit(Printer{}, event); }

}  // namespace softrnic::subnet
