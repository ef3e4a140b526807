// Which address and port of ours an id has, and which device that means.
#include <cerrno>

#include "cma/manager.h"

namespace softrnic::cma {
PortTable::Owner Manager::owner_of(const Id& id) const {
  return {id.number, id.source, id.reuse_address, id.binds_family_only(), id.state == State::listen};
}

Expected<void, Failure> Manager::bind(IdNumber number, const SocketAddress& address) {
  const auto id = ids_.find_for(number, Call::bind);
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
  if (!address.is_any()) binding = devices_.own_address(address);
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
