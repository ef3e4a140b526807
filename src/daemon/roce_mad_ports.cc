#include "daemon/roce_mad_ports.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>

#include "base/reason_id.h"
#include "device/lid.h"
#include "rnic/context.h"
#include "wire/headers.h"

namespace softrnic::daemon {
namespace {

constexpr std::uint32_t kPort = 1;  ///< the only one of a device

bool has_qp1(const device::DeviceInfo& device) { return !device::has_streams(device.kind); }

std::string hexadecimal(std::uint32_t value) {
  char text[16];
  const int length = std::snprintf(text, sizeof text, "0x%x", value);
  return length < 0 ? std::string() : std::string(text);
}

/// Lanes times speed (IBTA 14.2.5.6), in whole Gb/s.
std::uint32_t gigabits_of(const ibv_port_attr& port) {
  struct Speed {
    std::uint8_t code;
    std::uint32_t tenths;  // of Gb/s a lane
  };
  constexpr Speed kSpeeds[] = {{1, 25},   {2, 50},   {4, 100},  {8, 100},
                               {16, 140}, {32, 250}, {64, 500}, {128, 1000}};
  struct Width {
    std::uint8_t code;
    std::uint32_t lanes;
  };
  constexpr Width kWidths[] = {{1, 1}, {2, 4}, {4, 8}, {8, 12}};
  std::uint32_t tenths = 0, lanes = 1;
  for (const Speed& speed : kSpeeds)
    if (speed.code == port.active_speed) tenths = speed.tenths;
  for (const Width& width : kWidths)
    if (width.code == port.active_width) lanes = width.lanes;
  return tenths * lanes / 10;
}

control::MadPort port_of(const device::DeviceInfo& device) {
  const ibv_port_attr attributes = rnic::port_attributes_of(device);
  control::MadPort port;
  port.number = kPort;
  port.lid = attributes.lid;
  port.lmc = attributes.lmc;
  port.sm_lid = attributes.sm_lid;
  port.sm_sl = attributes.sm_sl;
  port.state = static_cast<std::uint8_t>(attributes.state);
  port.physical_state = attributes.phys_state;
  port.rate = gigabits_of(attributes);
  port.capability_mask = attributes.port_cap_flags;
  port.link_layer = attributes.link_layer;
  if (!device.port.gids.empty()) {
    port.gid_prefix = device.port.gids.front().gid.high_half();
    port.port_guid = device.port.gids.front().gid.low_half();
  }
  port.pkeys = {wire::kDefaultPkey};
  return port;
}

control::MadCa ca_of(const device::DeviceInfo& device) {
  const ibv_device_attr attributes = rnic::attributes_of(device);
  control::MadCa ca;
  ca.name = device.name;
  ca.node_type = static_cast<std::uint8_t>(device::info_of(device.kind).node);
  ca.firmware.assign(attributes.fw_ver, strnlen(attributes.fw_ver, sizeof attributes.fw_ver));
  ca.hardware = hexadecimal(attributes.hw_ver);
  ca.type = "softrnic";
  ca.node_guid = ca.system_guid = device.guid;
  ca.ports.push_back(port_of(device));
  return ca;
}

/// The index of a GID of the port; of a link-local one that is on several links, the entry of that link.
std::optional<std::uint8_t> index_of(const device::PortInfo& port, const wire::Gid& gid,
                                     std::uint32_t interface_index) {
  for (std::size_t i = 0; i < port.gids.size() && i <= UINT8_MAX; ++i) {
    const device::GidEntry& entry = port.gids[i];
    if (entry.gid != gid || gid.is_zero()) continue;
    if (gid.is_link_local() && interface_index != 0 && entry.interface_index != interface_index) continue;
    return static_cast<std::uint8_t>(i);
  }
  return std::nullopt;
}

/// The LID by which route_of_lid() leads to the peer; 0: none does. Programs that know LIDs alone answer it.
std::uint16_t lid_of(const device::PortInfo& port, const wire::Gid& peer) {
  const auto lid = static_cast<std::uint16_t>(peer.low_half());
  const auto route = device::route_of_lid(port, lid);
  return route && route->destination == peer ? lid : 0;
}

}  // namespace

const device::DeviceInfo* RoceMadPorts::find(const MadPortName& port) const {
  const auto found = std::find_if(devices_.begin(), devices_.end(), [&](const device::DeviceInfo& device) {
    return has_qp1(device) && device.name == port.ca && port.port == kPort;
  });
  return found == devices_.end() ? nullptr : &*found;
}

std::vector<control::MadCa> RoceMadPorts::cas() const {
  std::vector<control::MadCa> cas;
  for (const device::DeviceInfo& device : devices_)
    if (has_qp1(device)) cas.push_back(ca_of(device));
  return cas;
}

Expected<mad::Peer, Failure> RoceMadPorts::complete(const MadPortName& name, const mad::Peer& to) const {
  mad::Peer whole = to;
  const device::DeviceInfo* const device = find(name);
  if (device != nullptr && !whole.has_grh) {
    if (const auto route = device::route_of_lid(device->port, to.lid)) {
      whole.has_grh = true;
      whole.gid_index = route->source_gid_index;
      whole.gid = route->destination;
    }
  }
  const bool known = device != nullptr && whole.gid_index < device->port.gids.size() &&
                     !device->port.gids[whole.gid_index].gid.is_zero();
  const bool leads_somewhere = whole.has_grh && !whole.gid.is_zero() && !whole.gid.is_multicast();
  if (known && leads_somewhere && whole.pkey_index == 0) return whole;
  return Unexpected{refuse(EINVAL, ReasonId::mad_no_way, whole.gid.high_half(), whole.gid.low_half(),
                           whole.gid_index, whole.pkey_index)};
}

// The Q_Key is QP1's own, whatever the program says, as with the kernel's.
void RoceMadPorts::send(const MadPortName& name, mad::Queue, const mad::Peer& to, Bytes mad) {
  const device::DeviceInfo* const device = find(name);
  if (device == nullptr || to.gid_index >= device->port.gids.size()) return;
  const device::GidEntry& own = device->port.gids[to.gid_index];
  mad::Address address;
  address.local = own.gid;
  address.remote = to.gid;
  address.interface_index = own.interface_index;
  address.remote_qpn = to.qpn;
  address.traffic_class = to.traffic_class;
  address.hop_limit = to.hop_limit;
  address.flow_label = to.flow_label;
  send_mad(address, mad);
}

std::vector<RoceMadPorts::Arrival> RoceMadPorts::arrivals(const mad::Address& from) const {
  std::vector<Arrival> out;
  for (const device::DeviceInfo& device : devices_) {
    const auto index =
        has_qp1(device) ? index_of(device.port, from.local, from.interface_index) : std::nullopt;
    if (!index) continue;
    mad::Peer peer;
    peer.qpn = from.remote_qpn;
    peer.qkey = from.qkey;
    peer.has_grh = true;
    peer.gid_index = *index;
    peer.hop_limit = from.hop_limit;
    peer.traffic_class = from.traffic_class;
    peer.flow_label = from.flow_label;
    peer.gid = from.remote;
    peer.lid = lid_of(device.port, from.remote);
    out.push_back({{device.name, kPort}, peer});
  }
  return out;
}

}  // namespace softrnic::daemon
