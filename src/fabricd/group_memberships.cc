#include "fabricd/group_memberships.h"

#include <algorithm>

#include "base/clock.h"
#include "mad/component_mask.h"
#include "mad/sa_multicast_record.h"

namespace softrnic::fabricd {
namespace {

using mad::McMemberRecord;

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

cma::GroupAnswer group_in(const SaAnswer& answer) {
  const auto record = record_in<McMemberRecord>(answer);
  if (!record) return Unexpected{record.error()};
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

GroupMemberships::PortMember GroupMemberships::port_member(const cma::GroupQuery& query) {
  return {query.group, query.port_gid, query.send_only};
}

// A repetition of an earlier wish to leave would come after this one, and undo it.
void GroupMemberships::join(cma::MembershipNumber number, const cma::GroupQuery& query) {
  stop_leaving(port_member(query));
  const Member member{query, ++asked_};
  members_[number] = member;
  sa_.ask(static_cast<std::uint8_t>(query.port), mad::Method::set, record_of(query), kJoinMask,
          {monotonic_now()},
          [this, number, member](const SaAnswer& answer) { answered(number, member, answer); });
}

// Who leaves before the answer may be a member nevertheless, and so may the port whose join was not answered.
void GroupMemberships::answered(cma::MembershipNumber number, const Member& asked, const SaAnswer& answer) {
  const cma::GroupAnswer group = group_in(answer);
  cma::GroupQuery query = asked.query;
  if (group) query.group = group->group;
  const auto it = members_.find(number);
  const bool is_wanted = it != members_.end() && it->second.asked == asked.asked;
  if (is_wanted && group) it->second.query = query;
  if (is_wanted && !group) members_.erase(it);
  if (!is_wanted || !group) leave_unless_needed(query);
  if (is_wanted) joined_(number, group);
}

void GroupMemberships::leave(cma::MembershipNumber number) {
  const auto it = members_.find(number);
  if (it == members_.end()) return;
  const cma::GroupQuery left = it->second.query;
  members_.erase(it);
  leave_unless_needed(left);
}

void GroupMemberships::leave_unless_needed(const cma::GroupQuery& query) {
  const PortMember member = port_member(query);
  const bool needed = std::any_of(members_.begin(), members_.end(), [&member](const auto& other) {
    return port_member(other.second.query) == member;
  });
  if (query.group.is_zero() || needed) return;
  stop_leaving(member);
  const auto token =
      sa_.ask(static_cast<std::uint8_t>(query.port), mad::Method::delete_record, record_of(query), kLeaveMask,
              {monotonic_now()}, [this, member](const SaAnswer&) { leaving_.erase(member); });
  if (sa_.waits(token)) leaving_[member] = token;
}

void GroupMemberships::stop_leaving(const PortMember& member) {
  const auto it = leaving_.find(member);
  if (it == leaving_.end()) return;
  sa_.cancel(it->second);
  leaving_.erase(it);
}

}  // namespace softrnic::fabricd
