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

#include "mad/attribute_modifier.h"
#include "mad/forwarding_tables.h"
#include "mad/guid_info.h"
#include "mad/node_info.h"
#include "mad/notice.h"
#include "mad/p_key_table.h"
#include "mad/port_info.h"
#include "mad/smp.h"
#include "mad/switch_info.h"
#include "mad/virtual_lane_tables.h"
#include "subnet/manager.h"

namespace softrnic::subnet::testing {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

struct SimPlace {
  int node = -1;
  int port = 0;
  auto operator<=>(const SimPlace&) const = default;
};

struct SimPort {
  mad::PortInfo info;
  std::vector<std::uint16_t> p_keys = std::vector<std::uint16_t>(32);
  SimPlace peer;
};

struct SimNode {
  mad::NodeInfo info;
  mad::NodeDescription description;
  mad::SwitchInfo switch_info;
  std::vector<SimPort> ports;
  std::vector<std::uint8_t> linear = std::vector<std::uint8_t>(49152, 0xff);
  std::map<std::uint32_t, mad::MulticastForwardingTable> multicast;  // by modifier
  std::map<std::pair<std::uint16_t, std::uint32_t>, std::array<std::byte, 64>> other;
  bool is_dead = false;
  Duration delay{};
  std::uint64_t m_key = 0;

  bool is_switch() const { return info.node_type == mad::NodeType::switch_node; }
  std::uint64_t guid() const { return info.node_guid.value; }
};

/// Keeps all events.
struct EventLog : EventSink {
  void notify(const Event& event) override { events.push_back(event); }
  template <typename E>
  std::size_t count() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(events, [](const Event& e) { return std::holds_alternative<E>(e); }));
  }
  template <typename E>
  const E* last() const {
    for (auto at = events.rbegin(); at != events.rend(); ++at)
      if (const E* e = std::get_if<E>(&*at)) return e;
    return nullptr;
  }
  std::string text() const {
    std::string all;
    for (const Event& event : events) all += to_string(event) + "\n";
    return all;
  }
  std::vector<Event> events;
};

class SimulatedSubnet {
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

  SimNode& node(SimPlace at) { return nodes[static_cast<std::size_t>(at.node)]; }
  SimPort& at(SimPlace at) { return node(at).ports[static_cast<std::size_t>(at.port)]; }

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
  std::uint64_t port_guid(SimPlace place) {
    const SimNode& n = node(place);
    return n.is_switch() ? n.guid() : n.guid() + static_cast<std::uint64_t>(place.port);
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

  std::vector<SimNode> nodes;
  std::map<SimPlace, std::unique_ptr<Host>> hosts;
  TimePoint now{};
  double loss = 0;
  Duration jitter{};
  std::uint64_t sets = 0, gets = 0, steps = 0, represses = 0;
  std::function<void(SimPlace, mad::Smp&)> tamper;  ///< changes what a node answers
  std::vector<std::string> complaints;              ///< what a port was told that it must not be told

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

  int add(mad::NodeType type, std::uint8_t ports, std::uint64_t guid) {
    SimNode made;
    made.info.node_type = type;
    made.info.num_ports = ports;
    made.info.node_guid = made.info.system_image_guid = made.info.port_guid = mad::Guid(guid);
    made.info.partition_cap = 32;
    made.description = mad::NodeDescription::of("node " + std::to_string(nodes.size()));
    made.ports.resize(ports + std::size_t{1});
    for (SimPort& port : made.ports) {
      mad::PortInfo& info = port.info;
      info.port_state = mad::PortState::down;
      info.link_width_active = mad::LinkWidth::x4;
      info.link_speed_active = mad::LinkSpeed::qdr;
      info.link_width_enabled = info.link_width_supported = 2;
      info.mtu_cap = mad::Mtu::b4096;
      info.vl_cap = mad::VlCap::vl0_7;
      info.operational_vls = mad::VlCap::vl0;
      info.vl_arbitration_high_cap = info.vl_arbitration_low_cap = 8;
      info.guid_cap = 2;
      info.capability_mask = mad::port_capability::kTrap | mad::port_capability::kClientReregistration |
                             mad::port_capability::kSlMapping;
      port.p_keys[0] = 0xffff;
    }
    nodes.push_back(std::move(made));
    return static_cast<int>(nodes.size()) - 1;
  }
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

  // ---- the agent of a node

  template <typename Attribute>
  static void put(mad::Smp& smp, const Attribute& value) {
    smp.data = {};
    mad::encode(value, smp.data);
  }
  bool handle(SimPlace in, mad::Smp& smp) {
    SimNode& n = node(in);
    const bool set = smp.method == mad::Method::set;
    switch (smp.attribute) {
      case mad::NodeInfo::kAttribute: {
        mad::NodeInfo info = n.info;
        info.local_port_num = static_cast<std::uint8_t>(in.port);
        info.port_guid = mad::Guid(port_guid(in));
        return put(smp, info), true;
      }
      case mad::NodeDescription::kAttribute:
        return put(smp, n.description), true;
      case mad::SwitchInfo::kAttribute:
        if (!n.is_switch()) return false;
        if (set) set_switch_info(n, mad::decode<mad::SwitchInfo>(smp.data));
        return put(smp, n.switch_info), true;
      case mad::PortInfo::kAttribute: {
        const std::size_t number = smp.modifier & 0xff;
        if (number >= n.ports.size()) return false;
        if (set) set_port_info({in.node, static_cast<int>(number)}, mad::decode<mad::PortInfo>(smp.data));
        return put(smp, n.ports[number].info), true;
      }
      case mad::GuidInfo::kAttribute:
        return put(smp, mad::GuidInfo{{mad::Guid(port_guid(in))}}), true;
      case mad::PKeyTable::kAttribute:
        return p_keys(in, smp, set);
      case mad::LinearForwardingTable::kAttribute:
        return linear(n, smp, set);
      case mad::MulticastForwardingTable::kAttribute:
        if (set) n.multicast[smp.modifier] = mad::decode<mad::MulticastForwardingTable>(smp.data);
        return put(smp, n.multicast[smp.modifier]), true;
      default:
        if (set) n.other[{smp.attribute, smp.modifier}] = smp.data;
        smp.data = n.other[{smp.attribute, smp.modifier}];
        return true;
    }
  }
  bool p_keys(SimPlace in, mad::Smp& smp, bool set) {
    const auto modifier = mad::decode_modifier<mad::PKeyTableModifier>(smp.modifier);
    SimPort& port = at({in.node, node(in).is_switch() ? modifier.port : in.port});
    mad::PKeyTable table = mad::decode<mad::PKeyTable>(smp.data);
    if (modifier.block != 0) return false;
    if (set) std::ranges::copy(table.p_keys, port.p_keys.begin());
    std::ranges::copy(port.p_keys, table.p_keys.begin());
    return put(smp, table), true;
  }
  static bool linear(SimNode& n, mad::Smp& smp, bool set) {
    if (smp.modifier >= n.linear.size() / 64) return false;
    auto table = mad::decode<mad::LinearForwardingTable>(smp.data);
    const auto begin = n.linear.begin() + static_cast<std::ptrdiff_t>(64 * smp.modifier);
    if (set) std::ranges::copy(table.ports, begin);
    std::copy_n(begin, 64, table.ports.begin());
    return put(smp, table), true;
  }
  static void set_switch_info(SimNode& n, const mad::SwitchInfo& wanted) {
    n.switch_info.linear_fdb_top = wanted.linear_fdb_top;
    n.switch_info.life_time_value = wanted.life_time_value;
    n.switch_info.multicast_fdb_top = wanted.multicast_fdb_top;
    if (wanted.port_state_change) n.switch_info.port_state_change = false;
  }
  void set_port_info(SimPlace place, const mad::PortInfo& wanted) {
    SimNode& n = node(place);
    mad::PortInfo& info = at(place).info;
    const bool is_end_port = n.is_switch() == (place.port == 0);
    if (is_end_port) {
      if (!wanted.lid.is_unicast()) complaints.push_back("LID that is not unicast");
      if (!wanted.master_sm_lid.is_unicast()) complaints.push_back("no manager's LID");
      info.lid = wanted.lid;
      info.lmc = wanted.lmc;
      info.master_sm_lid = wanted.master_sm_lid;
      info.master_sm_sl = wanted.master_sm_sl;
      info.gid_prefix = wanted.gid_prefix;
      info.m_key = n.m_key = wanted.m_key;
      info.subnet_timeout = wanted.subnet_timeout;
      info.m_key_lease_period = wanted.m_key_lease_period;
      if (wanted.client_reregister) ++reregistered[place];
    }
    if (wanted.neighbor_mtu > info.mtu_cap) complaints.push_back("NeighborMTU above MTUCap");
    if (wanted.operational_vls > info.vl_cap) complaints.push_back("OperationalVLs above VLCap");
    if (wanted.port_physical_state != mad::PortPhysicalState::no_change)
      complaints.push_back("physical state");
    info.link_down_default_state = wanted.link_down_default_state;
    info.neighbor_mtu = wanted.neighbor_mtu;
    info.operational_vls = wanted.operational_vls;
    info.hoq_life = wanted.hoq_life;
    info.vl_stall_count = wanted.vl_stall_count;
    info.vl_high_limit = wanted.vl_high_limit;
    info.local_phy_errors = wanted.local_phy_errors;
    info.overrun_errors = wanted.overrun_errors;
    info.partition_enforcement_inbound = wanted.partition_enforcement_inbound;
    info.partition_enforcement_outbound = wanted.partition_enforcement_outbound;
    set_state(place, wanted.port_state);
  }
  // IBTA 7.2.7: armed from initialize, active from armed.
  void set_state(SimPlace place, mad::PortState wanted) {
    mad::PortState& state = at(place).info.port_state;
    if (wanted == mad::PortState::no_change) return;
    const bool legal = (wanted == mad::PortState::armed && state == mad::PortState::initialize) ||
                       (wanted == mad::PortState::active && state == mad::PortState::armed) ||
                       wanted == state;
    if (!legal) complaints.push_back("illegal change of state");
    if (wanted == mad::PortState::active && at(place).peer.node >= 0 &&
        at(at(place).peer).info.port_state < mad::PortState::armed)
      complaints.push_back("active before the other end was armed");
    if (legal) state = wanted;
  }

 public:
  std::map<SimPlace, int> reregistered;

 private:
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
