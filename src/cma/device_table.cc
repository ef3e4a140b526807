#include "cma/device_table.h"

#include <algorithm>
#include <span>

#include "cma/path.h"
#include "device/pkey.h"

namespace softrnic::cma {
namespace {

using Entries = std::vector<device::GidEntry>;

/// What paths of the device begin at.
const Entries& gids_of(const device::DeviceInfo& device) {
  return device::has_lids(device.kind) ? device.port.gids : addresses_of(device);
}

std::optional<std::size_t> first_used(const Entries& entries) {
  const auto used =
      std::find_if(entries.begin(), entries.end(), [](const auto& e) { return !e.gid.is_zero(); });
  if (used == entries.end()) return std::nullopt;
  return static_cast<std::size_t>(used - entries.begin());
}

/// The partition of its first entry, which is that of an IPoIB interface; as a full member, as Linux asks
/// subnet administrators.
std::uint16_t first_pkey(const device::DeviceInfo& device) {
  const auto pkeys = pkeys_of(device);
  return pkeys.empty() ? wire::kDefaultPkey : static_cast<std::uint16_t>(pkeys[0] | device::kFullMember);
}

Binding to_device(const device::DeviceInfo& device) {
  Binding binding;
  binding.device = device.index;
  binding.kind = device.kind;
  binding.guid = device.guid;
  binding.interface_index = device.interface_index;
  return binding;
}

std::optional<Binding> by_gid(const device::DeviceInfo& device, std::size_t index) {
  const device::GidEntry& entry = gids_of(device)[index];
  Binding binding = to_device(device);
  binding.gid = entry.gid;
  if (binding.has_lids()) {
    binding.gid_index = static_cast<std::uint8_t>(index);
    binding.pkey = first_pkey(device);
    return binding;
  }
  if (entry.interface_index != 0) binding.interface_index = entry.interface_index;
  binding.gid_index = static_cast<std::uint8_t>(device::gids_are_addresses(device.kind) ? index : 0);
  binding.address = entry.gid;
  return binding;
}

/// An IPoIB interface has the first GID of its port.
std::optional<Binding> by_address(const device::DeviceInfo& device, std::size_t index) {
  if (!device::has_lids(device.kind)) return by_gid(device, index);
  const auto gid_index = first_used(device.port.gids);
  if (!gid_index) return std::nullopt;
  auto binding = by_gid(device, *gid_index);
  binding->address = addresses_of(device)[index].gid;
  return binding;
}

/// How an entry leads to a device.
struct Way {
  const Entries& (*entries_of)(const device::DeviceInfo& device);
  std::optional<Binding> (*binding_to)(const device::DeviceInfo& device, std::size_t index);
};
constexpr Way kByGid{gids_of, by_gid};
constexpr Way kByAddress{device::addresses_of, by_address};

/// The first entry of a device that `fits`, of devices that are up first.
template <typename Fits>
std::optional<Binding> first_entry(std::span<const device::DeviceInfo> devices, const DeviceChoice& choice,
                                   const Way& way, Fits fits) {
  for (const bool up : {true, false}) {
    for (const device::DeviceInfo& device : devices) {
      if (device.port.up != up || !choice.allows(device)) continue;
      const Entries& entries = way.entries_of(device);
      for (std::size_t i = 0; i < entries.size(); ++i) {
        if (entries[i].gid.is_zero() || !fits(entries[i])) continue;
        if (const auto binding = way.binding_to(device, i)) return binding;
      }
    }
  }
  return std::nullopt;
}

auto is(const wire::Gid& gid, std::uint32_t interface_index) {
  return [gid, interface_index](const device::GidEntry& entry) {
    return entry.gid == gid &&
           (interface_index == 0 || entry.interface_index == 0 || entry.interface_index == interface_index);
  };
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
  return first_entry(devices_, choice, kByGid, is(gid, interface_index));
}

std::optional<Binding> DeviceTable::with_address(const wire::Gid& address, std::uint32_t interface_index,
                                                 const DeviceChoice& choice) const {
  return first_entry(devices_, choice, kByAddress, is(address, interface_index));
}

std::optional<Binding> DeviceTable::in_partition(Binding binding, std::uint16_t pkey) const {
  if (!binding.has_lids() || pkey == 0) return binding;
  if (!pkey_index_of(binding, pkey)) return std::nullopt;
  binding.pkey = static_cast<std::uint16_t>(pkey | device::kFullMember);
  return binding;
}

std::optional<Binding> DeviceTable::in_subnet_of(const wire::Gid& peer, std::uint16_t pkey,
                                                 const DeviceChoice& choice) const {
  for (const device::DeviceInfo& device : devices_) {
    if (!device::has_lids(device.kind) || !device.port.up || !choice.allows(device)) continue;
    for (std::size_t i = 0; i < device.port.gids.size(); ++i) {
      const wire::Gid& own = device.port.gids[i].gid;
      if (own.is_zero() || own.high_half() != peer.high_half()) continue;
      if (const auto binding = in_partition(*by_gid(device, i), pkey)) return binding;
    }
  }
  return std::nullopt;
}

std::optional<Binding> DeviceTable::loopback(Family family, const DeviceChoice& choice) const {
  const Way& way = family == Family::ib ? kByGid : kByAddress;
  const auto any = [](const device::GidEntry&) { return true; };
  if (const auto loopback = first_entry(devices_, choice, way, is(SocketAddress::loopback(family).host, 0)))
    return loopback;
  // No device has 127.0.0.1, so a device talks to itself: a GID of the family when it has one.
  const bool ipv4 = family == Family::ipv4;
  if (const auto own = first_entry(devices_, choice, way,
                                   [&](const device::GidEntry& e) { return e.gid.is_ipv4() == ipv4; }))
    return own;
  if (const auto own = first_entry(devices_, choice, way, any)) return own;
  return first_entry(devices_, choice, kByGid, any);  // InfiniBand without IP addresses
}

std::optional<Binding> DeviceTable::reached_by(const wire::Gid& address, std::uint32_t interface_index,
                                               const DeviceChoice& choice) const {
  if (const auto owner = with_address(address, interface_index, choice)) return owner;
  return loopback(address.is_ipv4() ? Family::ipv4 : Family::ipv6, choice);
}

// A loopback address that no device has means any device, as on Linux: which one is known with the peer.
// (libfabric's servers, seeing none, listen on the addresses of the devices.)
std::optional<Binding> DeviceTable::own_address(const SocketAddress& address,
                                                const DeviceChoice& choice) const {
  const std::uint32_t interface_index = address.is_link_local() ? address.scope : 0;
  const bool is_gid = address.family == Family::ib;
  const auto found =
      first_entry(devices_, choice, is_gid ? kByGid : kByAddress, is(address.host, interface_index));
  if (found) return in_partition(*found, is_gid ? address.pkey : 0);
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

std::optional<std::uint16_t> DeviceTable::pkey_index_of(const Binding& binding, std::uint16_t pkey) const {
  if (!binding.has_lids()) return 0;
  const device::DeviceInfo* const device = find(binding.device);
  return device != nullptr ? device::pkey_index(pkeys_of(*device), pkey) : std::nullopt;
}

}  // namespace softrnic::cma
