// Subnets to route: small ones by hand, and the regular and random ones of the textbooks.
#pragma once

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "subnet/graph.h"
#include "subnet/lid_assignment.h"

namespace softrnic::subnet::testing {

/// Builds a graph; ports are used in ascending order.
class Builder {
 public:
  SwitchId add_switch(std::uint8_t ports, std::uint64_t system = 0) {
    Switch description;
    description.guid = Guid(0x1000 + next_port_.size());
    description.port_guid = description.guid;
    description.system_image = system == 0 ? description.guid : Guid(system);
    description.ports = ports;
    next_port_.push_back(1);
    return graph.add_switch(description).value();
  }

  EndPortId add_host(SwitchId sw) {
    EndPort description;
    description.guid = Guid(0x100000 + hosts.size());
    description.node = description.guid;
    const EndPortId id = graph.add_end_port(description).value();
    EXPECT_TRUE(graph.connect(next(sw), id).has_value());
    hosts.push_back(id);
    return id;
  }
  void add_hosts(SwitchId sw, unsigned count) {
    for (unsigned i = 0; i < count; ++i) add_host(sw);
  }

  void link(SwitchId a, SwitchId b) {
    const SwitchPort from = next(a);
    EXPECT_TRUE(graph.connect(from, next(b)).has_value());
  }

  Builder& assign(std::uint8_t lmc = 0) {
    LidOptions options;
    options.lmc = lmc;
    apply_lids(graph, assign_lids(graph, options, {}).value());
    return *this;
  }

  Graph graph;
  std::vector<EndPortId> hosts;

 private:
  SwitchPort next(SwitchId sw) { return {sw, next_port_[sw.value]++}; }

  std::vector<std::uint8_t> next_port_;
};

inline Builder ring(unsigned switches, unsigned hosts = 1) {
  Builder b;
  for (unsigned i = 0; i < switches; ++i) b.add_hosts(b.add_switch(16), hosts);
  for (unsigned i = 0; i < switches; ++i) b.link(SwitchId(i), SwitchId((i + 1) % switches));
  b.assign();
  return b;
}

inline Builder torus(unsigned width, unsigned height, unsigned hosts = 1) {
  Builder b;
  for (unsigned i = 0; i < width * height; ++i) b.add_hosts(b.add_switch(16), hosts);
  for (unsigned y = 0; y < height; ++y) {
    for (unsigned x = 0; x < width; ++x) {
      b.link(SwitchId(y * width + x), SwitchId(y * width + (x + 1) % width));
      b.link(SwitchId(y * width + x), SwitchId((y + 1) % height * width + x));
    }
  }
  b.assign();
  return b;
}

/// Leaves 0 to leaves - 1, then spines, each linked to each.
inline Builder two_level_tree(unsigned leaves, unsigned spines, unsigned hosts, std::uint8_t lmc = 0,
                              unsigned spines_a_system = 1) {
  Builder b;
  for (unsigned i = 0; i < leaves; ++i) b.add_hosts(b.add_switch(36), hosts);
  for (unsigned i = 0; i < spines; ++i) {
    const SwitchId spine = b.add_switch(36, 0x900000 + i / spines_a_system);
    for (unsigned leaf = 0; leaf < leaves; ++leaf) b.link(SwitchId(leaf), spine);
  }
  b.assign(lmc);
  return b;
}

/// The fabric of a 648-port director switch, half of its ports in use: 324 hosts, 36 leaves, 18 spines.
inline Builder fat_tree_324() { return two_level_tree(36, 18, 9); }

/// A fat tree of three levels from switches with k ports: k³/4 hosts, 5k²/4 switches.
inline Builder three_level_tree(unsigned k) {
  Builder b;
  const unsigned half = k / 2;
  std::vector<SwitchId> cores;
  for (unsigned i = 0; i < half * half; ++i) cores.push_back(b.add_switch(static_cast<std::uint8_t>(k)));
  for (unsigned pod = 0; pod < k; ++pod) {
    std::vector<SwitchId> leaves;
    for (unsigned i = 0; i < half; ++i) {
      leaves.push_back(b.add_switch(static_cast<std::uint8_t>(k)));
      b.add_hosts(leaves.back(), half);
    }
    for (unsigned i = 0; i < half; ++i) {
      const SwitchId middle = b.add_switch(static_cast<std::uint8_t>(k));
      for (const SwitchId leaf : leaves) b.link(leaf, middle);
      for (unsigned j = 0; j < half; ++j) b.link(middle, cores[i * half + j]);
    }
  }
  b.assign();
  return b;
}

/// A random tree of switches with `extra` links more, some of them beside others, and hosts at random.
inline Builder random_graph(unsigned seed, unsigned switches, unsigned extra) {
  std::mt19937 engine(seed);
  const auto random = [&] { return static_cast<unsigned>(engine()); };
  Builder b;
  for (unsigned i = 0; i < switches; ++i) {
    const SwitchId sw = b.add_switch(200);
    if (i > 0) b.link(SwitchId(random() % i), sw);
    b.add_hosts(sw, random() % 3);
  }
  for (unsigned i = 0; i < extra; ++i) {
    const unsigned from = random() % switches;
    const unsigned to = random() % switches;
    if (from != to) b.link(SwitchId(from), SwitchId(to));
  }
  b.add_host(SwitchId(0));
  b.add_host(SwitchId(switches - 1));
  b.assign(static_cast<std::uint8_t>(seed % 3));
  return b;
}

}  // namespace softrnic::subnet::testing
