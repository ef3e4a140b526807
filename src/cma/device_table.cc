#include "cma/device_table.h"

#include <span>

#include "cma/path.h"

namespace softrnic::cma {
namespace {

Binding binding_to(const device::DeviceInfo& device, std::size_t gid_index) {
  const device::GidEntry& entry = device.port.gids[gid_index];
  Binding binding;
  binding.device = device.index;
  binding.guid = device.guid;
  binding.interface_index = entry.interface_index != 0 ? entry.interface_index : device.interface_index;
  binding.gid_index = static_cast<std::uint8_t>(gid_index);
  binding.gid = entry.gid;
  return binding;
}

/// The first entry of a device that `fits`, of devices that are up first.
template <typename Fits>
std::optional<Binding> first_entry(std::span<const device::DeviceInfo> devices, Fits fits) {
  for (const bool up : {true, false}) {
    for (const device::DeviceInfo& device : devices) {
      if (device.port.up != up) continue;
      for (std::size_t i = 0; i < device.port.gids.size(); ++i)
        if (!device.port.gids[i].gid.is_zero() && fits(device.port.gids[i])) return binding_to(device, i);
    }
  }
  return std::nullopt;
}

}  // namespace

const device::DeviceInfo* DeviceTable::find(std::uint32_t index) const {
  for (const device::DeviceInfo& device : devices_)
    if (device.index == index) return &device;
  return nullptr;
}

std::optional<Binding> DeviceTable::with_gid(const wire::Gid& gid, std::uint32_t interface_index) const {
  return first_entry(devices_, [&](const device::GidEntry& entry) {
    return entry.gid == gid &&
           (interface_index == 0 || entry.interface_index == 0 || entry.interface_index == interface_index);
  });
}

std::optional<Binding> DeviceTable::loopback(Family family) const {
  if (const auto loopback = with_gid(SocketAddress::loopback(family).host)) return loopback;
  // No device has 127.0.0.1, so a device talks to itself: a GID of the family when it has one.
  const bool ipv4 = family == Family::ipv4;
  if (const auto own =
          first_entry(devices_, [&](const device::GidEntry& e) { return e.gid.is_ipv4() == ipv4; }))
    return own;
  return first_entry(devices_, [](const device::GidEntry&) { return true; });
}

// A loopback address that no device has means any device, as on Linux: which one is known with the peer.
// (libfabric's servers, seeing none, listen on the addresses of the devices.)
std::optional<Binding> DeviceTable::own_address(const SocketAddress& address) const {
  if (const auto found = with_gid(address.host, address.is_link_local() ? address.scope : 0)) return found;
  return address.is_loopback() ? std::optional(Binding{}) : std::nullopt;
}

std::uint8_t DeviceTable::mtu_of(const wire::Gid& gid) const {
  const auto binding = with_gid(gid);
  const device::DeviceInfo* on = binding ? find(binding->device) : nullptr;
  return on != nullptr ? mtu_code(on->port.active_mtu) : 0;
}

}  // namespace softrnic::cma
