// A subnet for the manager to manage: nodes that answer SMPs from simple tables, and cables that lose, delay
// and reorder them. Knows nothing of routing: what it is told is all that it has.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "event_log.h"
#include "mad/notice.h"
#include "mad/virtual_lane_tables.h"
#include "simulated_agents.h"
#include "subnet/manager.h"

namespace softrnic::subnet::testing {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

class SimulatedSubnet : public SimAgents {
 public:
  explicit SimulatedSubnet(unsigned seed = 1) : random_(seed) {}

  // ---- what there is

  int add_switch(std::uint8_t ports, std::uint64_t guid = 0) {
    const int id = add(mad::NodeType::switch_node, ports, guid != 0 ? guid : 0x2000 + nodes.size());
    SimNode& node = nodes[static_cast<std::size_t>(id)];
    node.switch_info.linear_fdb_cap = 49152;
    node.switch_info.multicast_fdb_cap = 1024;
    node.switch_info.partition_enforcement_cap = 32;
    node.switch_info.inbound_enforcement_cap = node.switch_info.outbound_enforcement_cap = true;
    node.ports[0].info.port_state = mad::PortState::active;
    return id;
  }
  int add_host(std::uint64_t guid = 0, std::uint8_t ports = 1) {
    return add(mad::NodeType::channel_adapter, ports, guid != 0 ? guid : 0x100000 + 16 * nodes.size());
  }
  /// By the lowest free ports.
  void cable(int a, int b) { cable({a, free_port(a)}, {b, free_port(b)}); }
  void cable(SimPlace a, SimPlace b) {
    at(a).peer = b;
    at(b).peer = a;
    set_link(a, true);
  }
  void set_link(SimPlace a, bool up) {
    for (const SimPlace end : {a, at(a).peer}) {
      at(end).info.port_state = up ? mad::PortState::initialize : mad::PortState::down;
      at(end).info.port_physical_state =
          up ? mad::PortPhysicalState::link_up : mad::PortPhysicalState::polling;
      node(end).switch_info.port_state_change = true;
    }
  }
  void unplug(SimPlace a) {
    set_link(a, false);
    const SimPlace b = std::exchange(at(a).peer, {});
    at(b).peer = {};
  }
  void kill(int id) {
    for (int port = 1; port < static_cast<int>(nodes[static_cast<std::size_t>(id)].ports.size()); ++port)
      if (at({id, port}).peer.node >= 0) unplug({id, port});
    nodes[static_cast<std::size_t>(id)].is_dead = true;
  }

  // ---- managers

  struct Host : DatagramPort {
    Host(SimulatedSubnet& s, SimPlace p) : subnet(s), place(p) {}
    void send(const DatagramAddress& to, const mad::Mad& mad) override { subnet.carry(place, to, mad); }
    SimulatedSubnet& subnet;
    SimPlace place;
    EventLog log;
    std::unique_ptr<Manager> manager;
    bool is_dead = false;
    std::vector<std::pair<DatagramAddress, mad::Mad>> received;  ///< what came without a manager
  };
  Manager& add_manager(SimPlace place, ManagerOptions options = {}) {
    Host& host = add_endpoint(place);
    at(place).info.capability_mask |= mad::port_capability::kIsSm;
    host.manager = std::make_unique<Manager>(host, host.log, Guid(port_guid(place)), std::move(options));
    host.manager->start(now);
    return *host.manager;
  }
  /// A port whose general datagrams are kept for the test.
  Host& add_endpoint(SimPlace place) {
    auto& host = hosts[place];
    host = std::make_unique<Host>(*this, place);
    return *host;
  }
  EventLog& log(SimPlace place) { return hosts[place]->log; }

  // ---- time

  void run(Duration time) {
    const TimePoint end = now + time;
    for (;;) {
      TimePoint next = flights_.empty() ? kNever : flights_.top().when;
      for (auto& [place, host] : hosts)
        if (host->manager && !host->is_dead) next = std::min(next, host->manager->deadline());
      if (next > end) break;
      now = std::max(now, next);
      ++steps;
      if (!flights_.empty() && flights_.top().when <= now) {
        const Flight flight = flights_.top();
        flights_.pop();
        arrive(flight);
      }
      for (auto& [place, host] : hosts)
        if (host->manager && !host->is_dead && host->manager->deadline() <= now) host->manager->advance(now);
    }
    now = end;
  }
  /// Until that manager is idle after a sweep, at most so long.
  bool run_until_up(Manager& manager, Duration most = seconds(60)) {
    for (const TimePoint end = now + most; now < end;) {
      run(milliseconds(20));
      if (manager.is_up() && manager.is_idle()) return true;
    }
    return false;
  }

  // ---- judging

  /// Walks the tables that switches were sent.
  bool reaches(SimPlace from, SimPlace to) {
    const std::uint16_t lid = lid_of(to);
    SimPlace here = at(from).peer;
    for (int hops = 0; hops < 64 && here.node >= 0; ++hops) {
      SimNode& sw = node(here);
      if (!sw.is_switch()) return here == to;
      const std::uint8_t out = lid > sw.switch_info.linear_fdb_top ? 0xff : sw.linear[lid];
      if (out == 0) return here.node == to.node && to.port == 0;
      if (out >= sw.ports.size()) return false;
      if (at({here.node, out}).info.port_state != mad::PortState::active) return false;
      here = at({here.node, out}).peer;
    }
    return false;
  }
  /// Ports that a packet to that multicast LID from there comes out at.
  std::multiset<SimPlace> flood(SimPlace from, std::uint16_t mlid) {
    std::multiset<SimPlace> out;
    std::vector<SimPlace> front{at(from).peer};
    for (std::size_t i = 0; i < front.size() && i < 10000; ++i) {
      const SimPlace in = front[i];
      if (!node(in).is_switch()) {
        out.insert(in);
        continue;
      }
      for (int port = 1; port < static_cast<int>(node(in).ports.size()); ++port)
        if (port != in.port && multicast_has(node(in), mlid, port)) front.push_back(at({in.node, port}).peer);
    }
    return out;
  }
  std::uint16_t lid_of(SimPlace place) {
    return (node(place).is_switch() ? at({place.node, 0}) : at(place)).info.lid.value;
  }
  std::vector<SimPlace> host_ports() {
    std::vector<SimPlace> all;
    for (int id = 0; id < static_cast<int>(nodes.size()); ++id)
      for (int port = 1; port < static_cast<int>(nodes[static_cast<std::size_t>(id)].ports.size()); ++port)
        if (!nodes[static_cast<std::size_t>(id)].is_switch() && at({id, port}).peer.node >= 0)
          all.push_back({id, port});
    return all;
  }
  void expect_all_reach() {
    const auto all = host_ports();
    for (const SimPlace from : all)
      for (const SimPlace to : all)
        EXPECT_TRUE(from == to || reaches(from, to)) << from.node << " to " << to.node;
  }
  void expect_all_active() {
    for (int id = 0; id < static_cast<int>(nodes.size()); ++id)
      for (int port = 1; port < static_cast<int>(nodes[static_cast<std::size_t>(id)].ports.size()); ++port)
        EXPECT_TRUE(at({id, port}).peer.node < 0 || at({id, port}).info.port_state == mad::PortState::active)
            << id << " port " << port;
  }
  /// A trap of that node to whoever is master by its own PortInfo.
  void trap(SimPlace from, const mad::Notice& notice) {
    mad::Smp smp;
    smp.method = mad::Method::trap;
    smp.attribute = mad::Notice::kAttribute;
    smp.transaction = 77;
    mad::encode(notice, smp.data);
    const mad::PortInfo& own = node(from).is_switch() ? at({from.node, 0}).info : at(from).info;
    carry(from, {.lid = own.master_sm_lid}, mad::encoded(smp));
  }

  std::map<SimPlace, std::unique_ptr<Host>> hosts;
  TimePoint now{};
  double loss = 0;
  Duration jitter{};
  std::uint64_t sets = 0, gets = 0, steps = 0, represses = 0;
  std::function<void(SimPlace, mad::Smp&)> tamper;  ///< changes what a node answers

 private:
  struct Flight {
    TimePoint when;
    std::uint64_t order = 0;
    SimPlace from, to;
    DatagramAddress source;
    mad::Mad mad{};
    bool operator<(const Flight& other) const {
      return std::pair(when, order) > std::pair(other.when, other.order);
    }
  };

  int free_port(int id) {
    for (int port = 1; port < static_cast<int>(nodes[static_cast<std::size_t>(id)].ports.size()); ++port)
      if (at({id, port}).peer.node < 0) return port;
    ADD_FAILURE() << "no free port";
    return 1;
  }
  static bool multicast_has(const SimNode& sw, std::uint16_t mlid, int port) {
    const unsigned entry = mlid - 0xc000U;
    const auto found = sw.multicast.find(mad::encode_modifier(mad::MulticastForwardingModifier{
        .position = static_cast<std::uint8_t>(port / 16), .block = static_cast<std::uint16_t>(entry / 32)}));
    return found != sw.multicast.end() && (found->second.port_masks[entry % 32] >> (port % 16) & 1) != 0;
  }

  // ---- carrying

  void carry(SimPlace from, const DatagramAddress& to, const mad::Mad& mad) {
    if (std::uniform_real_distribution<>(0, 1)(random_) < loss) return;
    DatagramAddress source = to;
    mad::Mad arrived = mad;
    const SimPlace place = to.lid.is_permissive() ? route(from, arrived) : find_lid(to.lid.value);
    if (place.node < 0 || node(place).is_dead) return;
    if (!to.lid.is_permissive()) source.lid = Lid(lid_of(from));
    if (to.qpn != kSmiQpn) source.qpn = Qpn(1);
    Duration delay = microseconds(5) + node(place).delay;
    if (jitter > Duration::zero()) delay += Duration(random_() % static_cast<std::uint64_t>(jitter.count()));
    flights_.push({now + delay, ++order_, from, place, source, arrived});
  }
  SimPlace find_lid(std::uint16_t lid) {
    for (int id = 0; id < static_cast<int>(nodes.size()); ++id)
      for (int port = 0; port < static_cast<int>(nodes[static_cast<std::size_t>(id)].ports.size()); ++port)
        if (const auto& i = at({id, port}).info; i.lid.value != 0 && (lid >> i.lmc) == (i.lid.value >> i.lmc))
          return {id, port};
    return {};
  }
  // Where a directed route leads, out or back (IBTA 14.2.2).
  SimPlace route(SimPlace from, mad::Mad& mad) {
    auto smp = mad::decode<mad::Smp>(mad);
    SimPlace here = from;
    for (int i = 1; i <= smp.hop_count; ++i) {
      const auto slot = static_cast<std::size_t>(smp.returning ? smp.hop_count + 1 - i : i);
      const int out = smp.returning ? smp.return_path[slot] : smp.initial_path[slot];
      if (i > 1 && !node(here).is_switch()) return {};
      if (!node(here).is_switch() && !smp.returning && out != here.port) return {};
      if (out < 1 || out >= static_cast<int>(node(here).ports.size())) return {};
      const SimPort& port = at({here.node, out});
      if (port.peer.node < 0 || port.info.port_state == mad::PortState::down) return {};
      here = port.peer;
      if (node(here).is_dead) return {};
      if (!smp.returning) smp.return_path[slot] = static_cast<std::uint8_t>(here.port);
    }
    mad = mad::encoded(smp);
    return here;
  }
  void arrive(const Flight& flight) {
    const auto header = mad::parse_header(flight.mad);
    const auto host = hosts.find(node(flight.to).is_switch() ? SimPlace{flight.to.node, 0} : flight.to);
    const bool has_host = host != hosts.end() && !host->second->is_dead;
    const bool is_smp = header->management_class == mad::ManagementClass::subnet_lid_routed ||
                        header->management_class == mad::ManagementClass::subnet_directed_route;
    const bool for_sma = is_smp &&
                         (header->method == mad::Method::get || header->method == mad::Method::set) &&
                         header->attribute != mad::SmInfo::kAttribute;
    if (is_smp && header->method == mad::Method::trap_repress) ++represses;
    if (for_sma) return answer(flight);
    if (!has_host) return;
    if (host->second->manager) {
      host->second->manager->receive(flight.source, flight.mad, now);
    } else {
      host->second->received.emplace_back(flight.source, flight.mad);
    }
  }
  void answer(const Flight& flight) {
    auto smp = mad::decode<mad::Smp>(flight.mad);
    SimNode& target = node(flight.to);
    if (target.m_key != 0 && smp.m_key != target.m_key) return;
    ++(smp.method == mad::Method::set ? sets : gets);
    smp.status = handle(flight.to, smp) ? 0 : static_cast<std::uint16_t>(mad::Status::bad_method_attribute);
    smp.method = mad::Method::get_response;
    smp.returning = smp.is_directed();
    if (tamper) tamper(flight.to, smp);
    carry(flight.to, flight.source, mad::encoded(smp));
  }

  std::mt19937_64 random_;
  std::priority_queue<Flight> flights_;
  std::uint64_t order_ = 0;
};

/// `leaves` switches with hosts each, all cabled to each spine. Hosts come first: host 0 is node 0.
struct SimTree : SimulatedSubnet {
  SimTree(int leaf_count, int spine_count, int hosts_a_leaf, unsigned seed = 1) : SimulatedSubnet(seed) {
    for (int i = 0; i < leaf_count * hosts_a_leaf; ++i) host_ids.push_back(add_host());
    for (int i = 0; i < leaf_count; ++i) leaves.push_back(add_switch(36));
    for (int i = 0; i < spine_count; ++i) spines.push_back(add_switch(36));
    for (int i = 0; i < leaf_count * hosts_a_leaf; ++i)
      cable(leaves[static_cast<std::size_t>(i / hosts_a_leaf)], host_ids[static_cast<std::size_t>(i)]);
    for (const int leaf : leaves)
      for (const int spine : spines) cable(leaf, spine);
  }
  std::vector<int> host_ids, leaves, spines;
};

}  // namespace softrnic::subnet::testing
