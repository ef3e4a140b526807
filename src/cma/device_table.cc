#include "cma/device_table.h"

#include <algorithm>
#include <span>

#include "cma/path.h"

namespace softrnic::cma {
namespace {

Binding binding_to(const device::DeviceInfo& device, std::size_t index) {
  const device::GidEntry& entry = addresses_of(device)[index];
  Binding binding;
  binding.device = device.index;
  binding.kind = device.kind;
  binding.guid = device.guid;
  binding.interface_index = entry.interface_index != 0 ? entry.interface_index : device.interface_index;
  binding.gid_index = static_cast<std::uint8_t>(device::gids_are_addresses(device.kind) ? index : 0);
  binding.gid = entry.gid;
  return binding;
}

/// The first address of a device that `fits`, of devices that are up first.
template <typename Fits>
std::optional<Binding> first_entry(std::span<const device::DeviceInfo> devices, const DeviceChoice& choice,
                                   Fits fits) {
  for (const bool up : {true, false}) {
    for (const device::DeviceInfo& device : devices) {
      if (device.port.up != up || !choice.allows(device)) continue;
      const std::vector<device::GidEntry>& addresses = addresses_of(device);
      for (std::size_t i = 0; i < addresses.size(); ++i)
        if (!addresses[i].gid.is_zero() && fits(addresses[i])) return binding_to(device, i);
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

bool DeviceTable::any(const DeviceChoice& choice) const {
  return std::any_of(devices_.begin(), devices_.end(),
                     [&](const device::DeviceInfo& device) { return choice.allows(device); });
}

std::optional<Binding> DeviceTable::with_gid(const wire::Gid& gid, std::uint32_t interface_index,
                                             const DeviceChoice& choice) const {
  return first_entry(devices_, choice, [&](const device::GidEntry& entry) {
    return entry.gid == gid &&
           (interface_index == 0 || entry.interface_index == 0 || entry.interface_index == interface_index);
  });
}

std::optional<Binding> DeviceTable::loopback(Family family, const DeviceChoice& choice) const {
  if (const auto loopback = with_gid(SocketAddress::loopback(family).host, 0, choice)) return loopback;
  // No device has 127.0.0.1, so a device talks to itself: a GID of the family when it has one.
  const bool ipv4 = family == Family::ipv4;
  if (const auto own =
          first_entry(devices_, choice, [&](const device::GidEntry& e) { return e.gid.is_ipv4() == ipv4; }))
    return own;
  return first_entry(devices_, choice, [](const device::GidEntry&) { return true; });
}

std::optional<Binding> DeviceTable::reached_by(const wire::Gid& gid, std::uint32_t interface_index,
                                               const DeviceChoice& choice) const {
  if (const auto owner = with_gid(gid, interface_index, choice)) return owner;
  return loopback(gid.is_ipv4() ? Family::ipv4 : Family::ipv6, choice);
}

// A loopback address that no device has means any device, as on Linux: which one is known with the peer.
// (libfabric's servers, seeing none, listen on the addresses of the devices.)
std::optional<Binding> DeviceTable::own_address(const SocketAddress& address,
                                                const DeviceChoice& choice) const {
  const std::uint32_t interface_index = address.is_link_local() ? address.scope : 0;
  if (const auto found = with_gid(address.host, interface_index, choice)) return found;
  return address.is_loopback() ? std::optional(Binding{}) : std::nullopt;
}

wire::MpaDemands DeviceTable::demands_of(const Binding& binding) const {
  const device::DeviceInfo* const device = find(binding.device);
  return device != nullptr ? device->mpa : wire::MpaDemands{};
}

std::uint8_t DeviceTable::mtu_of(const wire::Gid& gid) const {
  const auto binding = with_gid(gid, 0, DeviceChoice{}.without_streams());
  const device::DeviceInfo* on = binding ? find(binding->device) : nullptr;
  return on != nullptr ? mtu_code(on->port.active_mtu) : 0;
}

}  // namespace softrnic::cma
