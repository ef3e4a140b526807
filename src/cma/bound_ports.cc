#include "cma/bound_ports.h"

#include <algorithm>
#include <cerrno>

#include "base/reason_id.h"
#include "cma/request.h"

namespace softrnic::cma {
namespace {

PortTable::Owner owner_of(const Id& id) {
  return {id.number, id.source, id.reuse_address, id.binds_family_only(), id.state == State::listen};
}

}  // namespace

Expected<void, Failure> BoundPorts::bind(Id& id, const SocketAddress& address, std::uint32_t random) {
  if (address.empty()) return Unexpected{refuse(EAFNOSUPPORT, ReasonId::cma_family)};
  if (address.is_link_local() && address.scope == 0)
    return Unexpected{
        refuse(EINVAL, ReasonId::cma_scope_missing, address.host.high_half(), address.host.low_half())};
  std::optional<Binding> binding = Binding{};
  if (!address.is_any()) binding = devices_.own_address(address, id.devices);
  if (!binding)
    return Unexpected{refuse(EADDRNOTAVAIL, ReasonId::cma_not_our_address, address.host.high_half(),
                             address.host.low_half())};
  const auto space = binding_space(id.space, address);
  if (!space) return Unexpected{refuse(EPROTONOSUPPORT, ReasonId::cma_service_id, address.service_id)};
  PortTable::Owner owner = owner_of(id);
  owner.address = address;
  owner.family_only = id.family_only.value_or(address.family != Family::ipv6);
  const auto port = table_.bind(*space, owner, random);
  if (!port) return Unexpected{port.error()};
  id.port = Service{*space, *port};
  id.source = address.with_port(*port);
  if (address.family == Family::ib) id.source.service_id = service_id_of(*space, *port);
  id.ephemeral_port = address.port == 0;
  id.binding = *binding;
  id.state = State::address_bound;
  return {};
}

Expected<void, Failure> BoundPorts::listen(Id& id) {
  const auto attended = attend(id, id.port->port);
  if (!attended) return attended;
  return table_.listen(id.port->space, id.port->port, id.number);
}

Expected<void, Failure> BoundPorts::attend(Id& id, std::uint16_t port) {
  if (id.attends) return {};
  const auto added = listeners_.add(id.number, port);
  if (added) id.attends = port;
  return added;
}

void BoundPorts::unattend(Id& id) {
  if (id.attends) listeners_.remove(id.number, *id.attends);
  id.attends.reset();
}

void BoundPorts::update(const Id& id) {
  if (id.port) table_.update(id.port->space, id.port->port, owner_of(id));
}

void BoundPorts::release(Id& id) {
  if (id.port) table_.release(id.port->space, id.port->port, id.number);
  id.port.reset();
}

/// Where the devices of listeners are apart: what came to another is not for it.
bool BoundPorts::may_come_by(const Id& listener, const cm::Event& request) const {
  if (listener.binding.has_streams()) return false;
  return listener.devices.only.empty() || devices_.with_gid(request.path.local, request.path.interface_index,
                                                            listener.devices.without_streams());
}

bool BoundPorts::hears(const Id& listener, const cm::Event& request) const {
  const SocketAddress& address = listener.source;
  if (!may_come_by(listener, request)) return false;
  if (listener.is_ib_addressed()) return address.is_any() || address.host == request.path.local;
  const auto header = header_of(request);
  if (!header) return false;
  const SocketAddress& wanted = header->destination;
  // nobody on the network has business with 127.0.0.1
  if (wanted.is_loopback() && !devices_.has_gid(request.path.remote)) return false;
  if (address.is_any()) return !listener.binds_family_only() || address.family == wanted.family;
  if (address.family != wanted.family || address.host != wanted.host) return false;
  return !address.is_link_local() || request.path.interface_index == 0 ||
         address.scope == request.path.interface_index;
}

Id* BoundPorts::listener_for(const cm::Event& request) const {
  const auto service = service_of(request.service_id.value);
  if (!service) return nullptr;
  Id* match = nullptr;
  for (const PortTable::Owner& owner : table_.owners(service->space, service->port)) {
    Id* id = owner.listening ? ids_.find(owner.id) : nullptr;
    if (id == nullptr || id->state != State::listen || !hears(*id, request)) continue;
    if (match == nullptr || match->source.is_any()) match = id;
  }
  return match;
}

const Id* BoundPorts::listener_elsewhere(const cm::Event& request) const {
  const auto service = service_of(request.service_id.value);
  if (!service) return nullptr;
  for (const PortTable::Owner& owner : table_.owners(service->space, service->port))
    if (owner.listening && !owner.address.is_any()) return ids_.find(owner.id);
  return nullptr;
}

bool BoundPorts::may_be_heard(std::uint16_t port, IdNumber but) const {
  const std::set<IdNumber>* ids = listeners_.ids(port);
  return ids != nullptr && std::any_of(ids->begin(), ids->end(), [&](IdNumber number) {
           const Id* id = number != but ? ids_.find(number) : nullptr;
           return id != nullptr && (id->state == State::address_bound || !id->port);
         });
}

}  // namespace softrnic::cma
