#include "subnet/deadlock_check.h"

#include <algorithm>
#include <bit>
#include <cinttypes>
#include <cstdio>

namespace softrnic::subnet {
namespace {

constexpr std::uint8_t kMostDataVls = 15;

// Channel numbers, and which channel waits for which: a row of bits, one for each port of the switch that the
// first channel leads to, for each channel and VL of the second.
class Dependencies {
 public:
  Dependencies(const Graph& graph, std::size_t vls) : graph_(graph), vls_(vls) {
    unsigned most_ports = 0;
    for (const Switch& sw : graph.switches()) most_ports = std::max<unsigned>(most_ports, sw.ports);
    words_ = most_ports / 64 + 1;
    bits_.resize(channels() * vls_ * words_);
  }

  std::size_t channels() const { return graph_.port_count() * vls_; }
  std::size_t channel(SwitchPort from, std::uint8_t vl) const { return graph_.index(from) * vls_ + vl; }

  void add(std::size_t channel, std::uint8_t port, std::uint8_t vl) {
    bits_[(channel * vls_ + vl) * words_ + port / 64] |= std::uint64_t{1} << (port % 64);
  }

  // The first edge of `channel` from the one numbered `start` on; edge_count() if there is none left. An edge
  // is numbered by VL and port.
  std::size_t next_edge(std::size_t channel, std::size_t start) const {
    for (std::size_t edge = start; edge < edge_count();) {
      const std::uint64_t rest = bits_[channel * vls_ * words_ + edge / 64] >> (edge % 64);
      if (rest != 0) return edge + static_cast<std::size_t>(std::countr_zero(rest));
      edge = (edge / 64 + 1) * 64;
    }
    return edge_count();
  }
  std::size_t edge_count() const { return vls_ * words_ * 64; }
  std::uint8_t edge_port(std::size_t edge) const { return static_cast<std::uint8_t>(edge % (words_ * 64)); }
  std::uint8_t edge_vl(std::size_t edge) const { return static_cast<std::uint8_t>(edge / (words_ * 64)); }

 private:
  const Graph& graph_;
  std::size_t vls_;
  std::size_t words_;
  std::vector<std::uint64_t> bits_;
};

// Walks the routes of the tables and notes their dependencies.
class RouteWalk {
 public:
  RouteWalk(const Graph& graph, const ForwardingTables& tables, const DeadlockOptions& options,
            std::uint8_t vls, Dependencies& dependencies)
      : graph_(graph),
        tables_(tables),
        options_(options),
        vls_(vls),
        dependencies_(dependencies),
        walked_(dependencies.channels()) {
    // Where all packets are alike, those of one source at a switch stand for the others there.
    const bool are_alike = !options.vl && !options.service_levels;
    std::vector<bool> has_source(graph.switches().size());
    for (std::uint32_t i = 0; i < graph.end_ports().size(); ++i) {
      const EndPortId id(i);
      if (!takes_part(id)) continue;
      destinations_.push_back(id);
      const std::uint32_t sw = graph.at(id).attached.sw.value;
      if (!are_alike || !has_source[sw]) sources_.push_back(id);
      has_source[sw] = true;
    }
  }

  void walk_all() {
    for (const EndPortId destination : destinations_) {
      for (unsigned offset = 0; offset < graph_.at(destination).lids(); ++offset) {
        walk_to(graph_.at(destination).lid(offset));
      }
    }
  }

 private:
  bool takes_part(EndPortId id) const {
    const bool is_switch = graph_.at(id).type == NodeType::switch_node;
    const bool wanted = !is_switch || options_.among == EndPorts::adapters_and_switches;
    return wanted && !graph_.at(id).base_lid.is_reserved() && graph_.is_attached(id);
  }

  // Service levels from outside in, so that what was walked for one is remembered for all its sources.
  void walk_to(Lid destination) {
    const std::uint16_t levels = all_service_levels(destination);
    for (std::uint8_t sl = 0; sl < 16; ++sl) {
      if ((levels >> sl & 1) == 0) continue;
      ++walk_;
      for (const EndPortId source : sources_) {
        if ((service_levels(source, destination) >> sl & 1) == 0) continue;
        walk(graph_.at(source).attached, destination, sl);
      }
    }
  }

  std::uint16_t service_levels(EndPortId source, Lid destination) const {
    return options_.service_levels ? options_.service_levels(source, destination) : std::uint16_t{1};
  }

  std::uint16_t all_service_levels(Lid destination) const {
    if (!options_.service_levels) return 1;
    std::uint16_t levels = 0;
    for (const EndPortId source : sources_) levels |= service_levels(source, destination);
    return levels;
  }

  // From where a packet comes in at `at`, until it leaves the switches or comes to a channel that was walked
  // on the way to this destination before.
  void walk(SwitchPort at, Lid destination, std::uint8_t sl) {
    std::size_t held = dependencies_.channels();
    for (;;) {
      const std::uint8_t out = tables_.at(at.sw).linear.port(destination);
      if (out == kNoRoute || out > graph_.at(at.sw).ports) return;
      const Port& port = graph_.at(SwitchPort{at.sw, out});
      if (!port.leads_to_switch()) return;
      const std::uint8_t vl = options_.vl ? options_.vl(at.sw, at.port, out, sl) : std::uint8_t{0};
      if (vl >= vls_) return;
      if (held != dependencies_.channels()) dependencies_.add(held, out, vl);
      held = dependencies_.channel({at.sw, out}, vl);
      if (walked_[held] == walk_) return;
      walked_[held] = walk_;
      at = port.peer;
    }
  }

  const Graph& graph_;
  const ForwardingTables& tables_;
  const DeadlockOptions& options_;
  std::uint8_t vls_;
  Dependencies& dependencies_;
  std::vector<EndPortId> destinations_;
  std::vector<EndPortId> sources_;
  std::vector<std::uint32_t> walked_;  // by channel: the last walk that came by
  std::uint32_t walk_ = 0;
};

// Depth first, with a stack of its own.
class CycleSearch {
 public:
  CycleSearch(const Graph& graph, const Dependencies& dependencies, std::size_t vls)
      : graph_(graph),
        dependencies_(dependencies),
        vls_(vls),
        colours_(dependencies.channels(), Colour::white) {}

  std::vector<Channel> find() {
    for (std::uint32_t i = 0; i < graph_.switches().size(); ++i) {
      for (unsigned port = 1; port <= graph_.at(SwitchId(i)).ports; ++port) {
        for (std::size_t vl = 0; vl < vls_; ++vl) {
          const Channel start{{SwitchId(i), static_cast<std::uint8_t>(port)}, static_cast<std::uint8_t>(vl)};
          if (search(start)) return cycle_;
        }
      }
    }
    return {};
  }

 private:
  enum class Colour : std::uint8_t { white, on_stack, done };
  struct Frame {
    Channel channel;
    std::size_t edge = 0;
  };

  bool search(Channel start) {
    if (colour(start) != Colour::white) return false;
    push(start);
    while (!stack_.empty()) {
      Frame& top = stack_.back();
      const std::size_t edge = dependencies_.next_edge(number(top.channel), top.edge);
      if (edge == dependencies_.edge_count()) {
        colour(top.channel) = Colour::done;
        stack_.pop_back();
        continue;
      }
      top.edge = edge + 1;
      const Channel next{{graph_.at(top.channel.from).peer.sw, dependencies_.edge_port(edge)},
                         dependencies_.edge_vl(edge)};
      if (colour(next) == Colour::on_stack) return keep_cycle(next);
      if (colour(next) == Colour::white) push(next);
    }
    return false;
  }

  void push(Channel channel) {
    colour(channel) = Colour::on_stack;
    stack_.push_back({channel, 0});
  }

  bool keep_cycle(Channel first) {
    auto frame = std::ranges::find(stack_, first, &Frame::channel);
    for (; frame != stack_.end(); ++frame) cycle_.push_back(frame->channel);
    return true;
  }

  std::size_t number(const Channel& channel) const { return dependencies_.channel(channel.from, channel.vl); }
  Colour& colour(const Channel& channel) { return colours_[number(channel)]; }

  const Graph& graph_;
  const Dependencies& dependencies_;
  std::size_t vls_;
  std::vector<Colour> colours_;
  std::vector<Frame> stack_;
  std::vector<Channel> cycle_;
};

}  // namespace

std::vector<Channel> find_deadlock(const Graph& graph, const ForwardingTables& tables,
                                   const DeadlockOptions& options) {
  const std::uint8_t vls =
      options.vl ? std::clamp(options.vls, std::uint8_t{1}, kMostDataVls) : std::uint8_t{1};
  Dependencies dependencies(graph, vls);
  RouteWalk(graph, tables, options, vls, dependencies).walk_all();
  return CycleSearch(graph, dependencies, vls).find();
}

std::string to_string(const Graph& graph, const std::vector<Channel>& cycle) {
  std::string out;
  char line[64];
  for (const Channel& channel : cycle) {
    std::snprintf(line, sizeof line, "switch 0x%016" PRIx64 " port %u VL %u",
                  graph.at(channel.from.sw).guid.value, channel.from.port, channel.vl);
    if (!out.empty()) out += ", ";
    out += line;
  }
  return out;
}

}  // namespace softrnic::subnet
