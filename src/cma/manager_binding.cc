// Which address and port of ours an id has, and which device that means.
#include <cerrno>

#include "cma/manager.h"

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

const device::DeviceInfo* Manager::device(std::uint32_t index) const {
  for (const device::DeviceInfo& device : devices_)
    if (device.index == index) return &device;
  return nullptr;
}

std::optional<Binding> Manager::find_device(const wire::Gid& gid, std::uint32_t interface_index) const {
  return first_entry(devices_, [&](const device::GidEntry& entry) {
    return entry.gid == gid &&
           (interface_index == 0 || entry.interface_index == 0 || entry.interface_index == interface_index);
  });
}

std::optional<Binding> Manager::loopback_device(Family family) const {
  if (const auto loopback = find_device(SocketAddress::loopback(family).host, 0)) return loopback;
  // No device has 127.0.0.1, so a device talks to itself: a GID of the family when it has one.
  const bool ipv4 = family == Family::ipv4;
  if (const auto own =
          first_entry(devices_, [&](const device::GidEntry& e) { return e.gid.is_ipv4() == ipv4; }))
    return own;
  return first_entry(devices_, [](const device::GidEntry&) { return true; });
}

// A loopback address that no device has means any device, as on Linux: which one is known with the peer.
// (libfabric's servers, seeing none, listen on the addresses of the devices.)
std::optional<Binding> Manager::own_address(const SocketAddress& address) const {
  if (const auto found = find_device(address.host, address.is_link_local() ? address.scope : 0)) return found;
  return address.is_loopback() ? std::optional(Binding{}) : std::nullopt;
}

PortTable::Owner Manager::owner_of(const Id& id) const {
  return {id.number, id.source, id.reuse_address, id.binds_family_only(), id.state == State::listen};
}

Expected<void, Failure> Manager::bind(IdNumber number, const SocketAddress& address) {
  const auto id = find_for(number, Call::bind);
  if (!id) return Unexpected{id.error()};
  const auto bound = bind(**id, address);
  if (!bound) return bound;
  // an id that is bound on its way to a peer will not listen
  (void)attend(**id, (*id)->port->port);  // listen() tries again
  return {};
}

Expected<void, Failure> Manager::bind(Id& id, const SocketAddress& address) {
  if (address.empty()) return Unexpected{refuse(EAFNOSUPPORT, ReasonId::cma_family)};
  if (address.is_link_local() && address.scope == 0)
    return Unexpected{
        refuse(EINVAL, ReasonId::cma_scope_missing, address.host.high_half(), address.host.low_half())};
  std::optional<Binding> binding = Binding{};
  if (!address.is_any()) binding = own_address(address);
  if (!binding)
    return Unexpected{refuse(EADDRNOTAVAIL, ReasonId::cma_not_our_address, address.host.high_half(),
                             address.host.low_half())};
  const auto space = binding_space(id.space, address);
  if (!space) return Unexpected{refuse(EPROTONOSUPPORT, ReasonId::cma_service_id, address.service_id)};
  PortTable::Owner owner = owner_of(id);
  owner.address = address;
  owner.family_only = id.family_only.value_or(address.family != Family::ipv6);
  const auto port = ports_.bind(*space, owner, host_.random_number());
  if (!port) return Unexpected{port.error()};
  id.port = Service{*space, *port};
  id.source = address.with_port(*port);
  if (address.family == Family::ib) id.source.service_id = service_id_of(*space, *port);
  id.binding = *binding;
  id.state = State::address_bound;
  return {};
}

void Manager::release_port(Id& id) {
  if (id.port) ports_.release(id.port->space, id.port->port, id.number);
  id.port.reset();
}

}  // namespace softrnic::cma
