#include "cma/resolution.h"

#include <cerrno>

#include "base/reason_id.h"
#include "cma/given_path.h"
#include "cma/infiniband_path.h"
#include "cma/multicast_group.h"
#include "cma/path.h"

namespace softrnic::cma {
namespace {

/// What leaves a program no way to say where it wants to go from: the wildcard of the
/// destination's family and link.
SocketAddress unspecified_source(const SocketAddress& destination) {
  SocketAddress source = SocketAddress::any(destination.family);
  source.scope = destination.scope;
  source.pkey = destination.pkey;
  return source;
}

/// What the program sees as where its id is: a GID if that is how it names places, else an IP address.
const wire::Gid& own_host(const Id& id) { return id.is_ib_addressed() ? id.binding.gid : id.binding.address; }

wire::Gid group_gid(const Id& id, const Binding& from) {
  return from.has_lids() ? multicast_gid(id.destination, from.pkey, id.space) : id.destination.host;
}

/// Where the answer leads to. On RoCE the address is the GID.
wire::Gid gid_behind(const Id& id, const Binding& from, const Route& route) {
  if (id.destination.is_multicast()) return group_gid(id, from);
  return from.has_lids() ? route.destination_gid : id.destination.host;
}

Unexpected<Failure> unclear(const SocketAddress& destination) {
  return Unexpected{
      refuse(EINVAL, ReasonId::cma_scope_missing, destination.host.high_half(), destination.host.low_half())};
}

}  // namespace

Expected<void, Failure> Resolution::resolve_address(Id& id, const SocketAddress& source,
                                                    const SocketAddress& destination, Duration timeout) {
  if (destination.empty()) return Unexpected{refuse(EAFNOSUPPORT, ReasonId::cma_family)};
  const bool bound = id.state == State::address_bound;
  SocketAddress from = bound ? id.source : source;
  if (from.empty()) from = unspecified_source(destination);
  if (from.family != destination.family) return Unexpected{refuse(EINVAL, ReasonId::cma_families_differ)};
  SocketAddress to = destination;
  if (to.is_any()) to.host = SocketAddress::loopback(to.family).host;
  if (to.is_link_local() && to.scope == 0) to.scope = from.scope;
  if (to.is_link_local() && to.scope == 0) return unclear(to);
  if (!bound) {
    const auto done = ports_.bind(id, from, host_.random_number());
    if (!done) return done;
  }
  id.destination = to;
  id.state = State::address_query;
  ask(id, timeout);
  return {};
}

void Resolution::ask(Id& id, Duration timeout) {
  if (id.destination.is_loopback()) return resolve_loopback(id);
  if (id.destination.is_multicast() && id.binding) {
    id.destination_gid = group_gid(id, id.binding);
    return address_known(id);
  }
  if (names_port(id)) return address_known(id);
  RouteQuery query;
  query.source = own_host(id);
  query.destination = id.destination.host;
  // a GID comes with a scope when the program knows it
  const bool scoped = id.destination.is_link_local() || (id.is_ib_addressed() && id.destination.scope != 0);
  query.interface_index = scoped ? id.destination.scope : id.binding.interface_index;
  query.deadline = host_.now() + timeout;
  host_.resolve(id.number, query);
}

// A GID of InfiniBand needs no route: as on Linux, its port is reached from any of the same subnet.
bool Resolution::names_port(Id& id) const {
  if (!id.is_ib_addressed()) return false;
  if (!id.binding) {
    const SocketAddress& to = id.destination;
    if (const auto binding = devices_.in_subnet_of(to.host, to.pkey, id.devices)) id.binding = *binding;
  }
  if (!id.binding.has_lids()) return false;
  id.destination_gid = id.destination.host;
  if (id.source.is_any()) id.source.host = id.binding.gid;
  return true;
}

void Resolution::resolve_loopback(Id& id) {
  if (!id.binding) {
    const auto binding = devices_.loopback(id.destination.family, id.devices);
    if (!binding) return address_failed(id, refuse(ENODEV, ReasonId::cma_no_device));
    id.binding = *binding;
  }
  // a device of the loopback netdev may have several addresses; else a device reaches itself, whatever the
  // program calls it
  const bool is_gid = devices_.has_gid(id.destination.host);
  id.destination_gid = is_gid ? id.destination.host : id.binding.gid;
  if (id.source.is_any()) id.source.host = SocketAddress::loopback(id.source.family).host;
  address_known(id);
}

std::optional<Binding> Resolution::device_at(const Id& id, const Route& route) const {
  if (id.is_ib_addressed()) return devices_.with_gid(route.source, route.interface_index, id.devices);
  return devices_.with_address(route.source, route.interface_index, id.devices);
}

void Resolution::answered(Id& id, const RouteAnswer& answer) {
  if (id.state != State::address_query) return;
  if (!answer) return address_failed(id, answer.error());
  const std::optional<Binding> binding = id.binding ? id.binding : device_at(id, *answer);
  if (!binding)
    return address_failed(id, refuse(ENODEV, ReasonId::cma_no_device_there, answer->source.high_half(),
                                     answer->source.low_half(), answer->interface_index));
  const wire::Gid peer = gid_behind(id, *binding, *answer);
  if (binding->has_lids() && (peer.is_zero() || peer.is_multicast() != id.destination.is_multicast()))
    return address_failed(id, refuse(EHOSTUNREACH, ReasonId::cma_no_port_there,
                                     id.destination.host.high_half(), id.destination.host.low_half()));
  id.binding = *binding;
  id.hop_limit = answer->hop_limit;
  id.destination_gid = peer;
  if (id.source.is_any()) id.source.host = own_host(id);
  if (id.source.is_link_local() && id.source.scope == 0) id.source.scope = id.binding.interface_index;
  address_known(id);
}

void Resolution::cancel(const Id& id) {
  if (id.state == State::address_query) host_.cancel_resolve(id.number);
  if (id.state == State::route_query) host_.cancel_path(id.number);
}

void Resolution::address_known(Id& id) {
  id.state = State::address_resolved;
  ports_.update(id);
  Event event;
  event.kind = RDMA_CM_EVENT_ADDR_RESOLVED;
  events_.tell(id, std::move(event));
}

void Resolution::address_failed(Id& id, const Failure& failure) {
  id.state = State::address_bound;
  events_.tell_failure(id, RDMA_CM_EVENT_ADDR_ERROR, -failure.error, failure.reason);
}

Expected<void, Failure> Resolution::resolve_route(Id& id, Duration timeout) {
  const device::DeviceInfo* on = devices_.find(id.binding.device);
  if (on == nullptr) return Unexpected{refuse(ENODEV, ReasonId::no_such_device)};
  if (id.binding.has_streams()) return stream_known(id);
  if (id.binding.has_lids()) {
    id.state = State::route_query;
    host_.find_path(id.number, path_query(id, host_.now() + timeout));
    return {};
  }
  const std::uint8_t life_time = packet_life_time_of(id);
  route_known(id, make_path(id, on->port, life_time), life_time);
  return {};
}

void Resolution::path_found(Id& id, const PathAnswer& answer) {
  if (id.state != State::route_query) return;
  if (!answer) return route_failed(id, answer.error());
  const device::DeviceInfo* on = devices_.find(id.binding.device);
  if (on == nullptr) return route_failed(id, refuse(ENODEV, ReasonId::no_such_device));
  const auto path = path_by(*answer, id, *on);
  if (!path) return route_failed(id, path.error());
  route_known(id, *path, answer->packet_life_time);
}

Expected<void, Failure> Resolution::take_path(Id& id, Bytes records) {
  const auto possible = check_call(Call::resolve_route, id.state);
  if (!possible) return possible;
  const device::DeviceInfo* on = devices_.find(id.binding.device);
  if (on == nullptr) return Unexpected{refuse(ENODEV, ReasonId::no_such_device)};
  if (id.binding.has_streams()) return Unexpected{refuse(EOPNOTSUPP, ReasonId::cma_streams_only)};
  const auto given = given_path(id, *on, records);
  if (!given) return Unexpected{given.error()};
  route_known(id, given->path, given->packet_life_time);
  return {};
}

// TCP finds its way by itself: as on Linux there is no path to show.
Expected<void, Failure> Resolution::stream_known(Id& id) {
  id.state = State::route_resolved;
  Event event;
  event.kind = RDMA_CM_EVENT_ROUTE_RESOLVED;
  events_.tell(id, std::move(event));
  return {};
}

void Resolution::route_known(Id& id, const cm::Path& path, std::uint8_t packet_life_time) {
  id.path = path;
  id.packet_life_time = packet_life_time;
  id.has_path = true;
  id.state = State::route_resolved;
  Event event;
  event.kind = RDMA_CM_EVENT_ROUTE_RESOLVED;
  events_.tell(id, std::move(event));
}

// The program may ask again.
void Resolution::route_failed(Id& id, const Failure& failure) {
  id.state = State::address_resolved;
  events_.tell_failure(id, RDMA_CM_EVENT_ROUTE_ERROR, -failure.error, failure.reason);
}

}  // namespace softrnic::cma
