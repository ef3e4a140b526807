#include "subnet/light_sweep.h"

#include "subnet/discovery.h"

namespace softrnic::subnet {

template <typename Attribute, typename Take>
void LightSweep::ask(const Subnet& subnet, NodePort port, std::uint32_t modifier, Take take) {
  SmpRequest request = get_smp<Attribute>(subnet.path_to(port), modifier);
  request.m_key = m_key_for(subnet, port, m_key_);
  ++pending_;
  requests_.send(request, [this, take](const SmpResult& result) {
    --pending_;
    found_change_ |= !result.is_answered();
    if (result.is_answered()) take(result.as<Attribute>());
  });
}

void LightSweep::start(const Subnet& subnet) {
  pending_ = 0;
  found_change_ = false;
  managers_.clear();
  if (subnet.self.node == kNoNode) {
    found_change_ = true;
    return;
  }
  const mad::PortState before = subnet.at(subnet.self).info.port_state;
  ask<mad::PortInfo>(subnet, subnet.self, subnet.self.port, [this, before](const mad::PortInfo& info) {
    found_change_ |= info.port_state != before;
  });
  for (std::uint32_t i = 0; i < subnet.nodes().size(); ++i) {
    const Node& node = subnet.nodes()[i];
    if (!node.is_switch() || !node.is_complete) continue;
    ask<mad::SwitchInfo>(subnet, {NodeId(i), 0}, 0,
                         [this](const mad::SwitchInfo& info) { found_change_ |= info.port_state_change; });
  }
  for (const RemoteManager& manager : subnet.managers) {
    ask<mad::SmInfo>(subnet, manager.port, 0, [this, manager](const mad::SmInfo& info) {
      if (info.guid == manager.info.guid) managers_.push_back({manager.port, info});
    });
  }
}

}  // namespace softrnic::subnet
