// A manager written by hand discovers a fabric by directed routes, gives LIDs and tables, and brings it from
// init to active, all by datagrams through the engine; then packets go by LIDs.
#include <gtest/gtest.h>

#include <deque>
#include <map>

#include "mad/forwarding_tables.h"
#include "tests/unit/fabric/agents_fixture.h"
#include "wire/infiniband_frame.h"

namespace softrnic::fabric {
namespace {

struct FoundNode {
  mad::NodeInfo info;
  Path path;
  wire::Lid lid;
  std::map<std::uint8_t, std::uint64_t> neighbors;  ///< node GUID behind a port

  bool is_switch() const { return info.node_type == mad::NodeType::switch_node; }
};
using Graph = std::map<std::uint64_t, FoundNode>;

class TinyManager {
 public:
  explicit TinyManager(HandManager& manager) : manager_(manager) {}

  Graph bring_up() {
    discover();
    assign_lids();
    for (auto& [guid, node] : graph_) {
      if (node.is_switch()) route(node);
    }
    for (const mad::PortState state : {mad::PortState::armed, mad::PortState::active}) {
      for (auto& [guid, node] : graph_) set_states(node, state);
    }
    return graph_;
  }

 private:
  void discover() {
    std::deque<Path> paths = {{}};
    while (!paths.empty()) {
      const Path path = paths.front();
      paths.pop_front();
      const auto info = manager_.get<mad::NodeInfo>(path);
      FoundNode& node = graph_[info.node_guid.value];
      if (node.info.num_ports != 0) continue;
      node.info = info;
      node.path = path;
      for (std::uint8_t port = 1; port <= info.num_ports; ++port) {
        if (!node.is_switch() && port != info.local_port_num) continue;
        if (manager_.get<mad::PortInfo>(path, port).port_state == mad::PortState::down) continue;
        Path further = path;
        further.push_back(port);
        if (!node.is_switch() && !path.empty()) continue;  // an adapter passes nothing on
        node.neighbors[port] = manager_.get<mad::NodeInfo>(further).node_guid.value;
        paths.push_back(further);
      }
    }
  }

  void assign_lids() {
    std::uint16_t next = 1;
    for (auto& [guid, node] : graph_) {
      const wire::Lid lid(next++);
      node.lid = lid;
      manager_.change_port(node.path, 0, [lid](mad::PortInfo& info) {
        info.lid = lid;
        info.master_sm_lid = wire::Lid(1);
      });
      EXPECT_EQ(manager_.status, mad::Status::ok);
    }
  }

  // The port of `from` that begins a shortest way, by looking from every neighbor in turn.
  std::uint8_t first_port(const FoundNode& from, std::uint64_t to) {
    std::deque<std::pair<std::uint64_t, std::uint8_t>> open;
    std::map<std::uint64_t, bool> known = {{from.info.node_guid.value, true}};
    for (const auto& [port, guid] : from.neighbors) open.emplace_back(guid, port);
    while (!open.empty()) {
      const auto [guid, port] = open.front();
      open.pop_front();
      if (guid == to) return port;
      if (std::exchange(known[guid], true) || !graph_.at(guid).is_switch()) continue;
      for (const auto& [next, neighbor] : graph_.at(guid).neighbors) open.emplace_back(neighbor, port);
    }
    return 255;
  }

  void route(const FoundNode& node) {
    mad::LinearForwardingTable table;
    table.ports.fill(255);
    for (const auto& [guid, other] : graph_) {
      table.ports[other.lid.value] =
          guid == node.info.node_guid.value ? std::uint8_t{0} : first_port(node, guid);
    }
    manager_.set(node.path, table);
    auto info = manager_.get<mad::SwitchInfo>(node.path);
    info.linear_fdb_top = static_cast<std::uint16_t>(graph_.size());
    info.port_state_change = true;
    EXPECT_FALSE(manager_.set(node.path, info).port_state_change);
  }

  void set_states(const FoundNode& node, mad::PortState state) {
    const auto set = [state](mad::PortInfo& info) { info.port_state = state; };
    if (!node.is_switch()) {
      manager_.change_port(node.path, 0, set);
      EXPECT_EQ(manager_.status, mad::Status::ok);
      return;
    }
    for (const auto& [port, guid] : node.neighbors) {
      EXPECT_EQ(manager_.change_port(node.path, port, set).port_state, state);
      EXPECT_EQ(manager_.status, mad::Status::ok);
    }
  }

  HandManager& manager_;
  Graph graph_;
};

/// A packet of a program: RC, to a queue pair that is not for agents.
std::vector<std::byte> data_packet(wire::Lid from, wire::Lid to) {
  wire::RouteHeaders route;
  route.local.slid = from;
  route.local.dlid = to;
  wire::Headers headers;
  headers.bth.opcode = wire::Opcode::rc_send_only;
  headers.bth.destination = Qpn(0x55);
  const std::vector<std::byte> payload(100, std::byte{0x5a});
  std::vector<std::byte> frame(300);
  const Bytes pieces[] = {payload};
  frame.resize(wire::encode_infiniband_frame(route, headers, pieces, frame) - wire::kVcrcBytes);
  return frame;
}

// Two hosts at each end of three switches in a row.
TEST(BringUp, ThreeSwitchesFromInitToActive) {
  AgentsFabric fabric;
  const NodeId switches[] = {fabric.add_switch(4), fabric.add_switch(4), fabric.add_switch(4)};
  const NodeId hosts[] = {fabric.add_adapter(), fabric.add_adapter(), fabric.add_adapter(),
                          fabric.add_adapter()};
  fabric.link(switches[0], 3, switches[1], 1);
  fabric.link(switches[1], 2, switches[2], 4);
  for (std::uint8_t i = 0; i < 2; ++i) {
    fabric.link(hosts[i], 1, switches[0], static_cast<std::uint8_t>(i + 1));
    fabric.link(hosts[i + 2], 1, switches[2], static_cast<std::uint8_t>(i + 1));
  }
  const PortId first = fabric.id_of(hosts[0], 1);
  EXPECT_EQ(fabric.engine.send(first, data_packet(wire::Lid(1), wire::Lid(2))).error(), SendError::port_down);
  HandManager manager(fabric, first);
  const Graph graph = TinyManager(manager).bring_up();
  ASSERT_EQ(graph.size(), 7U);
  EXPECT_EQ(graph.at(AgentsFabric::guid_of(switches[2], 0).value).path, (Path{1, 3, 2}));

  const auto lid_of = [&graph](NodeId node) { return graph.at(AgentsFabric::guid_of(node, 0).value).lid; };
  fabric.to_hosts.clear();
  for (const NodeId from : hosts) {
    for (const NodeId to : hosts) {
      const auto packet = data_packet(lid_of(from), lid_of(to));
      ASSERT_TRUE(fabric.engine.send(fabric.id_of(from, 1), packet).has_value());
      fabric.run();
      ASSERT_EQ(fabric.to_hosts.size(), 1U);
      EXPECT_EQ(fabric.to_hosts[0].first, fabric.id_of(to, 1));
      EXPECT_EQ(fabric.to_hosts[0].second, packet);
      fabric.to_hosts.clear();
    }
  }
  mad::Smp smp;
  smp.method = mad::Method::get;
  smp.attribute = mad::NodeInfo::kAttribute;
  const auto answer = manager.ask(smp, lid_of(switches[2]));
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(mad::decode<mad::NodeInfo>(answer->data).local_port_num, 4);
}

}  // namespace
}  // namespace softrnic::fabric
