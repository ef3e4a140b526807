#include "fabricd/host_connections.h"

#include <cerrno>

#include "base/reason_id.h"

namespace softrnic::fabricd {

HostConnections::HostConnections(daemon::CmService& cm, SaClient& sa,
                                 std::function<std::uint8_t(const wire::Gid&)> own_port,
                                 std::function<wire::Gid(std::uint8_t)> own_address,
                                 std::function<AddressOwner(const wire::Gid&)> owner_of)
    : cm_(cm),
      paths_(sa, [this](cma::IdNumber id, const cma::PathAnswer& path) { cm_.path_found(id, path); }),
      groups_(sa, [this](cma::MembershipNumber number,
                         const cma::GroupAnswer& group) { cm_.group_joined(number, group); }),
      own_port_(std::move(own_port)),
      own_address_(std::move(own_address)),
      owner_of_(std::move(owner_of)) {
  cm_.find_route = [this](cma::IdNumber id, const cma::RouteQuery& query) { find_route(id, query); };
  cm_.ask_for_path = [this](cma::IdNumber id, const cma::PathQuery& query) { paths_.ask(id, query); };
  cm_.forget_path = [this](cma::IdNumber id) { paths_.forget(id); };
  cm_.ask_for_group = [this](cma::MembershipNumber membership, const cma::GroupQuery& query) {
    groups_.join(membership, query);
  };
  cm_.forget_group = [this](cma::MembershipNumber membership) { groups_.leave(membership); };
  cm_.is_port_of = [this](const wire::Gid& port, const wire::Gid& address) {
    return owner_of_(address).gid == port;
  };
}

// There is one IPoIB subnet, and all of it is known: nothing has to be waited for.
void HostConnections::find_route(cma::IdNumber id, const cma::RouteQuery& query) {
  cma::Route route;
  route.source = query.source.is_zero() ? own_address_(1) : query.source;
  route.interface_index = own_port_(route.source);
  route.destination_gid = owner_of_(query.destination).gid;
  const bool is_known = !route.destination_gid.is_zero() || query.destination.is_multicast();
  if (is_known) return cm_.route_found(id, route);
  cm_.route_found(id, Unexpected{refuse(EHOSTUNREACH, ReasonId::no_neighbour, route.interface_index,
                                        query.destination.high_half(), query.destination.low_half())});
}

}  // namespace softrnic::fabricd
