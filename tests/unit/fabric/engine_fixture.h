// A small fabric for tests: an engine whose hosts and agents write down what they are given.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "fabric/engine.h"

namespace softrnic::fabric {

inline constexpr std::size_t kAround = wire::kLrhBytes + 12 + 4;  ///< LRH, BTH and ICRC

struct PacketWish {
  wire::Lid dlid{};
  wire::Lid slid{};
  std::uint8_t sl = 0;
  std::uint8_t vl = 0;
  std::size_t payload = 64;  ///< a multiple of 4
  std::uint16_t pkey = 0xffff;
  std::uint32_t destination = 7;
  wire::LinkNextHeader next = wire::LinkNextHeader::iba_local;
};

inline std::vector<std::byte> make_packet(const PacketWish& wish) {
  std::vector<std::byte> bytes(kAround + wish.payload);
  wire::LinkHeader header;
  header.vl = wish.vl;
  header.sl = wish.sl;
  header.next_header = wish.next;
  header.dlid = wish.dlid;
  header.slid = wish.slid;
  header.packet_length = static_cast<std::uint16_t>(bytes.size() / 4);
  wire::encode_link_header(header, std::span<std::byte, 8>(bytes.data(), 8));
  store_be16(&bytes[10], wish.pkey);
  store_be24(&bytes[13], wish.destination);
  return bytes;
}

/// Host n is node n, an adapter of one port, and has LID n + 1; its port leads to port n + 1 of one switch,
/// the last node, whose own LID is 100.
class Star {
 public:
  struct Seen {
    PortId port;
    std::vector<std::byte> bytes;
    std::uint8_t vl;
    TimePoint when;
  };

  explicit Star(std::uint8_t hosts, Rate rate = {}, Duration delay = Duration(0), BufferSizes sizes = {},
                Limits limits = {})
      : engine(limits, {&agents, &hosts_side, &tap, &dice}) {
    for (std::uint8_t i = 0; i < hosts; ++i) host_nodes.push_back(*engine.add_adapter(1, sizes));
    switch_node = *engine.add_switch(hosts, sizes);
    for (std::uint8_t i = 0; i < hosts; ++i) {
      links.push_back(*engine.connect(host(i), out(i), rate, delay));
      engine.forwarding(switch_node)->set_linear(lid(i), static_cast<std::uint8_t>(i + 1));
    }
    engine.forwarding(switch_node)->set_linear(wire::Lid(100), 0);
    run();
    for (std::uint8_t i = 0; i < hosts; ++i) activate(i);
    states.clear();
  }

  static wire::Lid lid(unsigned host) { return wire::Lid(static_cast<std::uint16_t>(host + 1)); }
  PortId host(unsigned i) const { return engine.port(host_nodes[i], 1)->id; }
  PortId out(unsigned i) const { return engine.port(switch_node, static_cast<std::uint8_t>(i + 1))->id; }
  PortCounters& counters(PortId id) { return *engine.counters(id); }
  void activate(unsigned i) {
    for (const PortId id : {host(i), out(i)}) {
      EXPECT_TRUE(engine.set_state(id, PortState::armed));
      EXPECT_TRUE(engine.set_state(id, PortState::active));
    }
    run();
  }
  /// Up to `after` the latest time, with all events on the way.
  void run(Duration after = Duration(1'000'000)) {
    const TimePoint end = engine.now() + after;
    do {
      engine.advance(end);
    } while (engine.next_deadline() <= end);
  }
  auto send(unsigned from, const PacketWish& wish) { return engine.send(host(from), make_packet(wish)); }
  auto send(unsigned from, unsigned to, std::size_t payload = 64, std::uint8_t sl = 0) {
    return send(from, {.dlid = lid(to), .slid = lid(from), .sl = sl, .payload = payload});
  }

  std::vector<NodeId> host_nodes;
  NodeId switch_node;
  std::vector<LinkId> links;
  std::vector<Seen> to_hosts, to_agents, tapped;
  std::vector<std::pair<PortId, PortState>> states;
  std::vector<PortId> room;
  PortId flow_control_of{0xffff};  ///< whose flow control packets are written down
  std::vector<wire::FlowControlPacket> flow_control;
  bool hosts_hold = false;
  bool agents_take = true;
  double next_roll = 0.5;

 private:
  static Seen seen(PortId port, const Packet& packet, TimePoint when) {
    const Bytes bytes = packet.bytes();
    return {port, {bytes.begin(), bytes.end()}, packet.vl, when};
  }
  struct Agents : ManagementSink {
    explicit Agents(Star& s) : star(s) {}
    bool on_packet(PortId port, const Packet& packet) override {
      if (star.agents_take) star.to_agents.push_back(seen(port, packet, star.engine.now()));
      return star.agents_take;
    }
    void on_state(PortId port, PortState state) override { star.states.emplace_back(port, state); }
    void on_room(PortId) override {}
    Star& star;
  };
  struct Hosts : HostSink {
    explicit Hosts(Star& s) : star(s) {}
    bool on_packet(PortId port, const Packet& packet) override {
      if (!star.hosts_hold) star.to_hosts.push_back(seen(port, packet, star.engine.now()));
      return !star.hosts_hold;
    }
    void on_room(PortId port) override { star.room.push_back(port); }
    Star& star;
  };
  struct Captured : Tap {
    explicit Captured(Star& s) : star(s) {}
    void on_packet(PortId port, const Packet& packet, TimePoint when) override {
      star.tapped.push_back(seen(port, packet, when));
    }
    void on_flow_control(PortId port, const wire::FlowControlPacket& packet, TimePoint) override {
      if (port == star.flow_control_of) star.flow_control.push_back(packet);
    }
    Star& star;
  };
  struct Fixed : Dice {
    explicit Fixed(Star& s) : star(s) {}
    double roll() override { return star.next_roll; }
    Star& star;
  };
  Agents agents{*this};
  Hosts hosts_side{*this};
  Captured tap{*this};
  Fixed dice{*this};

 public:
  Engine engine;
};

}  // namespace softrnic::fabric
