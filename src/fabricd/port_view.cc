#include "fabricd/port_view.h"

#include <algorithm>

#include "control/messages.h"
#include "mad/link.h"
#include "rnic/context.h"

namespace softrnic::fabricd {
namespace {

using fabric::ManagedNode;
using fabric::ManagedPort;

/// The numbers of struct ibv_port_attr: those of LinkSpeed, and from 16 on those of LinkSpeedExt.
std::uint8_t verbs_speed(const mad::PortInfo& info) {
  constexpr unsigned kExtended = 16;
  if (info.link_speed_ext_active == mad::LinkSpeedExt::none)
    return static_cast<std::uint8_t>(info.link_speed_active);
  return static_cast<std::uint8_t>(kExtended * static_cast<unsigned>(info.link_speed_ext_active));
}

/// Mb/s of width times speed, as rates are named.
std::uint32_t megabits_of(const mad::PortInfo& info) {
  const mad::SpeedInfo* const speed = mad::find_speed(info.link_speed_active, info.link_speed_ext_active);
  return speed != nullptr ? mad::lanes_of(info.link_width_active) * speed->lane_rate * 100U : 0;
}

std::vector<std::uint16_t> used_p_keys(const ManagedPort& port, std::size_t most) {
  const auto last = std::find_if(port.p_keys.rbegin(), port.p_keys.rend(), [](auto key) { return key != 0; });
  const auto used = static_cast<std::size_t>(port.p_keys.rend() - last);
  return {port.p_keys.begin(), port.p_keys.begin() + static_cast<std::ptrdiff_t>(std::min(used, most))};
}

device::InfinibandPort infiniband_of(const ManagedPort& port, const PortIdentity& identity) {
  const mad::PortInfo& info = port.info;
  device::InfinibandPort out;
  out.state = static_cast<std::uint8_t>(info.port_state);
  out.physical_state = static_cast<std::uint8_t>(info.port_physical_state);
  out.active_width = static_cast<std::uint8_t>(info.link_width_active);
  out.active_speed = verbs_speed(info);
  out.lmc = info.lmc;
  out.sm_sl = info.master_sm_sl;
  out.data_vls = static_cast<std::uint8_t>(info.vl_cap);
  out.subnet_timeout = info.subnet_timeout;
  out.lid = info.lid;
  out.sm_lid = info.master_sm_lid;
  out.capabilities = info.capability_mask;
  out.reregistrations = identity.reregistrations;
  out.pkeys = used_p_keys(port, control::kMaxPkeys);
  return out;
}

control::MadPort mad_port_of(const ManagedPort& port) {
  const mad::PortInfo& info = port.info;
  control::MadPort out;
  out.number = port.number;
  out.lid = info.lid.value;
  out.lmc = info.lmc;
  out.sm_lid = info.master_sm_lid.value;
  out.sm_sl = info.master_sm_sl;
  out.state = static_cast<std::uint8_t>(info.port_state);
  out.physical_state = static_cast<std::uint8_t>(info.port_physical_state);
  out.rate = megabits_of(info) / 1000;
  out.capability_mask = info.capability_mask;
  out.gid_prefix = info.gid_prefix;
  out.port_guid = port.guids.empty() ? 0 : port.guids[0].value;
  out.pkeys = used_p_keys(port, control::kMadMostPkeys);
  return out;
}

}  // namespace

device::DeviceInfo device_of(const ManagedNode& node, const ManagedPort& port, const PortIdentity& identity) {
  device::DeviceInfo device;
  device.kind = device::Kind::infiniband;
  device.index = identity.index;
  device.name = identity.device;
  device.interface_index = port.number;
  device.guid = node.info.node_guid.value;
  device::PortInfo& out = device.port;
  const std::uint32_t mtu = mad::bytes_of(port.info.neighbor_mtu);
  out.up = port.info.port_state == mad::PortState::active;
  out.active_mtu = mtu;
  out.netdev_mtu = mtu;
  out.speed_mbps = megabits_of(port.info);
  for (const mad::Guid guid : port.guids) {
    const wire::Gid gid = guid.value != 0 ? mad::gid_of(port.info.gid_prefix, guid) : wire::Gid{};
    out.gids.push_back({gid, port.number});
  }
  out.addresses = {{identity.address, port.number}};
  out.infiniband = infiniband_of(port, identity);
  return device;
}

control::MadCa ca_of(const ManagedNode& node, const std::string& name) {
  device::DeviceInfo device;
  device.kind = device::Kind::infiniband;
  control::MadCa ca;
  ca.name = name;
  ca.node_type = static_cast<std::uint8_t>(node.info.node_type);
  ca.firmware = rnic::attributes_of(device).fw_ver;
  ca.hardware = "0x0";
  ca.type = "softrnic";
  ca.node_guid = node.info.node_guid.value;
  ca.system_guid = node.info.system_image_guid.value;
  for (std::size_t number = 1; number < node.ports.size() && number < control::kMadPortsOfCa; ++number)
    ca.ports.push_back(mad_port_of(node.ports[number]));
  return ca;
}

}  // namespace softrnic::fabricd
