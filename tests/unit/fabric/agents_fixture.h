// A fabric with its firmware for tests: an engine, the agents of its nodes, and a manager written by hand
// that asks by directed routes.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "fabric/engine.h"
#include "fabric/node_agents.h"
#include "mad/attribute_modifier.h"
#include "mad/port_info.h"
#include "tests/unit/fabric/directed_smp.h"

namespace softrnic::fabric {

class AgentsFabric : public EndportSink, private HostSink {
 public:
  struct Seen {
    PortId endport;
    Datagram datagram;
  };

  explicit AgentsFabric(bool sink_takes = true) : takes(sink_takes) {}

  NodeId add_switch(std::uint8_t ports, bool enhanced = false) {
    return add(*engine.add_switch(ports, {}), ports, enhanced);
  }
  NodeId add_adapter(std::uint8_t ports = 1) { return add(*engine.add_adapter(ports, {}), ports, false); }
  LinkId link(NodeId a, std::uint8_t port_a, NodeId b, std::uint8_t port_b) {
    const LinkId id = *engine.connect(id_of(a, port_a), id_of(b, port_b), {}, Duration(0));
    run();
    return id;
  }
  PortId id_of(NodeId node, std::uint8_t port) const { return engine.port(node, port)->id; }
  const ManagedPort& port(NodeId node, std::uint8_t number) const {
    return *agents.port(id_of(node, number));
  }
  static mad::Guid guid_of(NodeId node, std::uint8_t port) {
    return mad::Guid(0x0002c90000000000 + node.value * 0x100 + port);
  }

  /// All that happens in so much time.
  void run(Duration time = Duration(0)) {
    const TimePoint end = engine.now() + time;
    while (true) {
      const TimePoint next = std::min(engine.next_deadline(), agents.next_deadline());
      if (next > end) break;
      engine.advance(std::max(next, engine.now()));
      agents.advance(engine.now());
    }
    engine.advance(end);
  }

  // EndportSink, HostSink
  bool on_datagram(PortId endport, const Datagram& datagram) override {
    if (takes) seen.push_back({endport, datagram});
    return takes;
  }
  void on_event(PortId endport, PortEvent event) override { events.emplace_back(endport, event); }
  void on_trained(PortId port, const TrainedLink& trained_link) override { trained[port] = trained_link; }
  bool on_packet(PortId port, const Packet& packet) override {
    const Bytes bytes = packet.bytes();
    to_hosts.emplace_back(port, std::vector<std::byte>(bytes.begin(), bytes.end()));
    return true;
  }
  void on_room(PortId) override {}

  bool takes;
  std::function<void(NodeProfile&)> adjust;  ///< of nodes that are added
  std::vector<Seen> seen;
  std::vector<std::pair<PortId, PortEvent>> events;
  std::map<PortId, TrainedLink> trained;
  std::vector<std::pair<PortId, std::vector<std::byte>>> to_hosts;

  NodeAgents agents{engine, this};
  Engine engine{Limits{}, {&agents, this, nullptr, nullptr}};

 private:
  NodeId add(NodeId id, std::uint8_t ports, bool enhanced) {
    NodeProfile profile;
    profile.description = "node " + std::to_string(id.value);
    profile.guid = guid_of(id, 0);
    profile.system_image_guid = guid_of(id, 0);
    profile.enhanced_port0 = enhanced;
    for (std::uint8_t number = 0; number <= ports; ++number) {
      profile.ports.push_back({.guid = guid_of(id, number)});
    }
    if (adjust) adjust(profile);
    EXPECT_TRUE(agents.add(id, profile));
    return id;
  }
};

/// A subnet manager on an endport, and the answers that it gets.
class HandManager {
 public:
  HandManager(AgentsFabric& fabric, PortId at) : fabric_(fabric), at_(at) {}

  /// Sends it, and gives the answer that comes; nothing: none comes.
  std::optional<mad::Smp> ask(mad::Smp smp, wire::Lid dlid = {}) {
    smp.transaction = ++transaction_;
    fabric_.seen.clear();
    Datagram datagram;
    datagram.dlid = dlid;
    datagram.mad = mad::encoded(smp);
    fabric_.agents.send(at_, datagram);
    fabric_.run();
    for (const auto& seen : fabric_.seen) {
      const auto answer = mad::decode<mad::Smp>(seen.datagram.mad);
      if (seen.endport == at_ && answer.transaction == smp.transaction &&
          answer.method == mad::Method::get_response) {
        return answer;
      }
    }
    return std::nullopt;
  }
  template <typename M>
  mad::Smp request(const Path& path, mad::Method method, std::uint32_t modifier, const M& value) {
    mad::Smp smp = directed(path);
    smp.method = method;
    smp.attribute = M::kAttribute;
    smp.modifier = modifier;
    smp.m_key = m_key;
    mad::encode(value, smp.data);
    return smp;
  }
  template <typename M>
  M get(const Path& path, std::uint32_t modifier = 0) {
    const auto answer = ask(request(path, mad::Method::get, modifier, M{}));
    EXPECT_TRUE(answer.has_value()) << M::kAttribute;
    if (!answer) return {};
    status = mad::common_status(answer->status);
    return mad::decode<M>(answer->data);
  }
  template <typename M>
  M set(const Path& path, const M& value, std::uint32_t modifier = 0) {
    const auto answer = ask(request(path, mad::Method::set, modifier, value));
    EXPECT_TRUE(answer.has_value()) << M::kAttribute;
    if (!answer) return {};
    status = mad::common_status(answer->status);
    return mad::decode<M>(answer->data);
  }
  /// Changes some fields of a PortInfo.
  mad::PortInfo change_port(const Path& path, std::uint32_t modifier,
                            const std::function<void(mad::PortInfo&)>& change) {
    auto info = get<mad::PortInfo>(path, modifier);
    info.port_state = mad::PortState::no_change;
    info.port_physical_state = mad::PortPhysicalState::no_change;
    info.link_width_enabled = info.link_speed_enabled = info.link_speed_ext_enabled = 0;
    if (info.lid.is_reserved()) info.lid = wire::Lid(0x1234);
    if (info.master_sm_lid.is_reserved()) info.master_sm_lid = wire::Lid(0x1234);
    change(info);
    return set(path, info, modifier);
  }

  std::uint64_t m_key = 0;
  mad::Status status = mad::Status::ok;  ///< of the latest answer

 private:
  AgentsFabric& fabric_;
  PortId at_;
  std::uint64_t transaction_ = 0;
};

}  // namespace softrnic::fabric
