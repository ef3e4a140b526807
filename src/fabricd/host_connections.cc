#include "fabricd/host_connections.h"

#include <cerrno>

#include "base/clock.h"
#include "mad/component_mask.h"
#include "mad/sa_multicast_record.h"
#include "mad/sa_path_records.h"

namespace softrnic::fabricd {
namespace {

using mad::McMemberRecord;
using mad::PathRecord;

Failure unreachable(int error) { return refuse(error, ReasonId::cma_no_subnet_administrator); }

PathRecord record_of(const cma::PathQuery& query) {
  PathRecord record;
  record.sgid = query.source;
  record.dgid = query.destination;
  record.p_key = query.pkey;
  record.reversible = true;
  record.num_paths = 1;
  record.set_service_id(query.service_id);
  record.qos_class = query.qos_class.value_or(0);
  record.traffic_class = query.traffic_class.value_or(0);
  return record;
}

std::uint64_t mask_of(const cma::PathQuery& query) {
  std::uint64_t mask = mad::component<PathRecord>("sgid") | mad::component<PathRecord>("dgid") |
                       mad::component<PathRecord>("p_key") | mad::component<PathRecord>("reversible") |
                       mad::component<PathRecord>("num_paths");
  if (query.qos_class) mask |= mad::component<PathRecord>("qos_class");
  if (query.traffic_class) mask |= mad::component<PathRecord>("traffic_class");
  return mask;
}

cma::PathAnswer answer_in(const std::optional<mad::Mad>& mad) {
  if (!mad) return Unexpected{unreachable(ETIMEDOUT)};
  const auto record = record_in<PathRecord>(*mad);
  if (!record) return Unexpected{unreachable(ENETUNREACH)};
  cma::PathRecord path;
  path.source_lid = record->slid;
  path.destination_lid = record->dlid;
  path.pkey = record->p_key;
  path.flow_label = record->flow_label;
  path.hop_limit = record->hop_limit;
  path.traffic_class = record->traffic_class;
  path.sl = record->sl;
  path.mtu = static_cast<std::uint8_t>(record->mtu);
  path.rate = static_cast<std::uint8_t>(record->rate);
  path.packet_life_time = record->packet_life_time;
  return path;
}

/// A group that is made now is of the P_Key and Q_Key that are asked for; else it is as it is.
constexpr std::uint64_t kJoinMask =
    mad::component<McMemberRecord>("mgid") | mad::component<McMemberRecord>("port_gid") |
    mad::component<McMemberRecord>("join_state") | mad::component<McMemberRecord>("p_key") |
    mad::component<McMemberRecord>("q_key") | mad::component<McMemberRecord>("traffic_class") |
    mad::component<McMemberRecord>("sl") | mad::component<McMemberRecord>("flow_label");
constexpr std::uint64_t kLeaveMask = mad::component<McMemberRecord>("mgid") |
                                     mad::component<McMemberRecord>("port_gid") |
                                     mad::component<McMemberRecord>("join_state");

McMemberRecord record_of(const cma::GroupQuery& query) {
  McMemberRecord record;
  record.mgid = query.group;
  record.port_gid = query.port_gid;
  record.p_key = query.pkey;
  record.q_key = query.qkey;
  record.join_state = query.send_only ? mad::join_state::kSendOnlyFullMember : mad::join_state::kFullMember;
  return record;
}

cma::GroupAnswer group_in(const std::optional<mad::Mad>& mad) {
  if (!mad) return Unexpected{unreachable(ETIMEDOUT)};
  const auto record = record_in<McMemberRecord>(*mad);
  if (!record) return Unexpected{unreachable(ENETUNREACH)};
  cma::GroupRecord group;
  group.group = record->mgid;
  group.lid = record->mlid;
  group.qkey = record->q_key;
  group.pkey = record->p_key;
  group.flow_label = record->flow_label;
  group.hop_limit = record->hop_limit;
  group.traffic_class = record->traffic_class;
  group.sl = record->sl;
  group.mtu = static_cast<std::uint8_t>(record->mtu);
  group.rate = static_cast<std::uint8_t>(record->rate);
  return group;
}

}  // namespace

HostConnections::HostConnections(daemon::CmService& cm, SaClient& sa,
                                 std::function<std::uint8_t(const wire::Gid&)> own_port,
                                 std::function<wire::Gid(std::uint8_t)> own_address,
                                 std::function<AddressOwner(const wire::Gid&)> owner_of)
    : cm_(cm),
      sa_(sa),
      own_port_(std::move(own_port)),
      own_address_(std::move(own_address)),
      owner_of_(std::move(owner_of)) {
  cm_.find_route = [this](cma::IdNumber id, const cma::RouteQuery& query) { find_route(id, query); };
  cm_.ask_for_path = [this](cma::IdNumber id, const cma::PathQuery& query) { ask_for_path(id, query); };
  cm_.forget_path = [this](cma::IdNumber id) {
    if (const auto it = paths_.find(id); it != paths_.end()) sa_.cancel(it->second);
    paths_.erase(id);
  };
  cm_.ask_for_group = [this](cma::MembershipNumber membership, const cma::GroupQuery& query) {
    ask_for_group(membership, query);
  };
  cm_.forget_group = [this](cma::MembershipNumber membership) { leave_group(membership); };
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

// The answer may come before the question has been sent: of an administrator on this port.
void HostConnections::ask_for_path(cma::IdNumber id, const cma::PathQuery& query) {
  const auto token =
      sa_.ask(static_cast<std::uint8_t>(query.port), mad::Method::get, record_of(query), mask_of(query),
              monotonic_now(), [this, id](const std::optional<mad::Mad>& answer) {
                paths_.erase(id);
                cm_.path_found(id, answer_in(answer));
              });
  if (sa_.waits(token)) paths_[id] = token;
}

void HostConnections::ask_for_group(cma::MembershipNumber number, const cma::GroupQuery& query) {
  groups_[number].query = query;
  const auto token =
      sa_.ask(static_cast<std::uint8_t>(query.port), mad::Method::set, record_of(query), kJoinMask,
              monotonic_now(), [this, number](const std::optional<mad::Mad>& answer) {
                const cma::GroupAnswer group = group_in(answer);
                const auto it = groups_.find(number);
                if (it != groups_.end() && group) it->second.group = group->group;
                if (it != groups_.end() && !group) groups_.erase(it);
                cm_.group_joined(number, group);
              });
  const auto it = groups_.find(number);
  if (it != groups_.end() && sa_.waits(token)) it->second.token = token;
}

// The port leaves a group with the last of its members.
void HostConnections::leave_group(cma::MembershipNumber number) {
  const auto it = groups_.find(number);
  if (it == groups_.end()) return;
  sa_.cancel(it->second.token);
  const Membership left = std::move(it->second);
  groups_.erase(it);
  if (left.group.is_zero()) return;
  for (const auto& [other, membership] : groups_)
    if (membership.group == left.group && membership.query.port == left.query.port) return;
  McMemberRecord record = record_of(left.query);
  record.mgid = left.group;
  sa_.ask(static_cast<std::uint8_t>(left.query.port), mad::Method::delete_record, record, kLeaveMask,
          monotonic_now(), [](const std::optional<mad::Mad>&) {});
}

}  // namespace softrnic::fabricd
