#include "subnet/sa_multicast.h"

#include <optional>

#include "subnet/group_limits.h"
#include "subnet/path_finder.h"
#include "wire/mgid.h"

namespace softrnic::subnet {
namespace {

using mad::McMemberRecord;
using mad::SaStatus;

constexpr std::uint64_t kJoin = mad::component<McMemberRecord>("mgid") |
                                mad::component<McMemberRecord>("port_gid") |
                                mad::component<McMemberRecord>("join_state");
constexpr std::uint64_t kCreate =
    kJoin | mad::component<McMemberRecord>("q_key") | mad::component<McMemberRecord>("traffic_class") |
    mad::component<McMemberRecord>("p_key") | mad::component<McMemberRecord>("flow_label") |
    mad::component<McMemberRecord>("sl");
/// All that a group has one value of, and no selector.
constexpr std::uint64_t kShared =
    mad::component<McMemberRecord>("q_key") | mad::component<McMemberRecord>("traffic_class") |
    mad::component<McMemberRecord>("flow_label") | mad::component<McMemberRecord>("sl") |
    mad::component<McMemberRecord>("hop_limit");
constexpr std::uint64_t kGroupPKey = mad::component<McMemberRecord>("p_key");
constexpr std::uint8_t kMayCreate = mad::join_state::kFullMember | mad::join_state::kSendOnlyFullMember;

/// A P_Key of a request means the partition, whoever of the two is a full member.
bool agrees_in_partition(std::uint16_t asked, std::uint16_t group) {
  return ((asked ^ group) & kPartitionMask) == 0 && ((asked | group) & kFullMember) != 0;
}

bool agrees(const McMemberRecord& asked, std::uint64_t mask, const McMemberRecord& group) {
  const bool same_partition = (mask & kGroupPKey) == 0 || agrees_in_partition(asked.p_key, group.p_key);
  return same_partition && mad::matches(mask & kShared, asked, group) && agrees_in_limits(asked, mask, group);
}

/// ff1s:401b:PPPP::ffff:ffff of the same scope and partition (RFC 4391 4).
wire::Gid broadcast_of(const wire::Gid& mgid) {
  wire::Gid broadcast;
  broadcast.raw[0] = std::byte{0xff};
  broadcast.raw[1] = std::byte{0x10} | (mgid.raw[1] & std::byte{0x0f});
  store_be16(&broadcast.raw[2], wire::kIpv4Signature);
  broadcast.raw[4] = mgid.raw[4];
  broadcast.raw[5] = mgid.raw[5];
  store_be32(&broadcast.raw[12], 0xffffffff);
  return broadcast;
}

/// IBTA 4.1.1 and o15-0.1.5; of IPoIB, that there is its broadcast group, which the others take after (RFC
/// 4391 5).
bool is_legal_group(const MulticastGroups& groups, const McMemberRecord& asked, std::uint64_t mask) {
  const wire::Gid& mgid = asked.mgid;
  if (mgid.raw[0] != std::byte{0xff}) return false;
  const std::uint16_t signature = load_be16(&mgid.raw[2]);
  const auto flags = std::to_integer<unsigned>(mgid.raw[1]);
  if (signature == wire::kIpv4Signature || signature == wire::kIpv6Signature) {
    if (mgid == broadcast_of(mgid)) return true;
    const McGroup* const broadcast = groups.find(broadcast_of(mgid));
    const std::uint64_t shared = mask & kShared;
    return broadcast != nullptr && mad::matches(shared, asked, broadcast->record) &&
           ((mask & kGroupPKey) == 0 || agrees_in_partition(asked.p_key, broadcast->record.p_key));
  }
  if ((flags & 0xe0) != 0) return false;
  // Only the administrator makes these.
  return signature != wire::kAdministratorSignature || (flags & 0x0f) != wire::kLinkLocalScope;
}

// One Set or Delete.
class MembershipRequest {
 public:
  MembershipRequest(const SaView& view, MulticastGroups& groups, const SaRequest& request)
      : view_(view), groups_(groups), request_(request), asked_(request.record<McMemberRecord>()) {}

  SaStatus join(SaRecords& out) {
    if (const SaStatus status = check(); status != SaStatus::ok) return status;
    const bool breaks_proxy = is_proxy() && !view_.may_see(request_.requester, port_);
    const bool bad_p_key = request_.has(kGroupPKey) && is_invalid_p_key(asked_.p_key);
    if (breaks_proxy || bad_p_key) return SaStatus::invalid_request;
    const McGroup* group = groups_.find(asked_.mgid);
    if (group == nullptr) return create(out);
    if (!agrees(asked_, request_.sa.component_mask, group->record) || !can_join(group->record))
      return SaStatus::invalid_request;
    const auto member = group->members.find(guid_);
    if (member != group->members.end() && !may_change(member->second, group->record))
      return SaStatus::invalid_request;
    return enter(*group, out);
  }

  SaStatus leave(SaRecords& out) {
    if (const SaStatus status = check(); status != SaStatus::ok) return status;
    const McGroup* const group = groups_.find(asked_.mgid);
    if (group == nullptr) return SaStatus::invalid_request;
    const auto member = group->members.find(guid_);
    if (member == group->members.end()) return SaStatus::invalid_request;
    const std::uint8_t has = member->second.join_state;
    const bool has_all = asked_.join_state != 0 && (asked_.join_state & ~has) == 0;
    if (!has_all || !may_change(member->second, group->record)) return SaStatus::invalid_request;
    McMemberRecord answer = answer_of(group->record);
    answer.join_state = has & static_cast<std::uint8_t>(~asked_.join_state);
    answer.proxy_join = member->second.proxy_join;
    groups_.leave(asked_.mgid, guid_, asked_.join_state);
    out.add(answer);
    return SaStatus::ok;
  }

 private:
  /// What both need; finds the port.
  SaStatus check() {
    if (!request_.has(kJoin)) return SaStatus::insufficient_components;
    const std::uint64_t prefix = asked_.port_gid.high_half();
    if (prefix != mad::kDefaultSubnetPrefix && prefix != view_.options.ports.subnet_prefix)
      return SaStatus::invalid_gid;
    guid_ = Guid(asked_.port_gid.low_half());
    id_ = view_.database.graph().find_end_port(guid_);
    if (id_ == kNoEndPort) return SaStatus::invalid_request;
    port_ = view_.database.topology.port_of(id_);
    return SaStatus::ok;
  }

  bool is_proxy() const { return view_.end_port(request_.requester) != id_; }

  /// Of a member: the port itself or, if it did not join itself, whoever is in the partition (o15-0.2.1).
  bool may_change(const GroupMember& member, const McMemberRecord& group) const {
    if (!member.proxy_join) return !is_proxy();
    const EndPortId requester = view_.end_port(request_.requester);
    return requester != kNoEndPort && has_p_key(view_.database.p_keys_of(requester), group.p_key);
  }

  /// The port is in the partition, and can take what is sent to the group (o15-0.2.4).
  bool can_join(const McMemberRecord& group) const {
    return asked_.join_state != 0 && has_p_key(view_.database.p_keys_of(id_), group.p_key) &&
           can_receive(view_.database.subnet.at(port_).info, group);
  }

  SaStatus create(SaRecords& out) {
    if ((asked_.join_state & kMayCreate) == 0) return SaStatus::invalid_request;
    if (!request_.has(kCreate)) return SaStatus::insufficient_components;
    const std::uint64_t mask = request_.sa.component_mask;
    McMemberRecord record = asked_;
    if (!record.mgid.is_zero() && !is_legal_group(groups_, asked_, mask)) return SaStatus::invalid_request;
    const auto limited = realize_limits(record, mask, view_.database.subnet.at(port_).info,
                                        view_.options.ports.subnet_timeout);
    if (!limited || !can_join(*limited)) return SaStatus::invalid_request;
    record = *limited;
    if ((mask & mad::component<McMemberRecord>("hop_limit")) == 0) record.hop_limit = 0;
    if ((mask & mad::component<McMemberRecord>("mlid")) == 0) record.mlid = {};
    if (!record.mgid.is_zero()) {
      record.scope = std::to_integer<std::uint8_t>(record.mgid.raw[1]) & 0x0f;
    } else if ((mask & mad::component<McMemberRecord>("scope")) == 0) {
      record.scope = wire::kLinkLocalScope;
    }
    const McGroup* const made = groups_.create(record, view_.options.ports.subnet_prefix, false);
    return made == nullptr ? SaStatus::no_resources : enter(*made, out);
  }

  SaStatus enter(const McGroup& group, SaRecords& out) {
    if (!groups_.join(group.record.mgid, guid_, {asked_.join_state, is_proxy()}))
      return SaStatus::no_resources;
    McMemberRecord answer = answer_of(group.record);
    const GroupMember& member = group.members.at(guid_);
    answer.join_state = member.join_state;
    answer.proxy_join = member.proxy_join;
    out.add(answer);
    return SaStatus::ok;
  }

  /// With the prefix that was asked with.
  McMemberRecord answer_of(const McMemberRecord& group) const {
    McMemberRecord answer = group;
    answer.port_gid = asked_.port_gid;
    return answer;
  }

  const SaView& view_;
  MulticastGroups& groups_;
  const SaRequest& request_;
  McMemberRecord asked_;
  Guid guid_;
  EndPortId id_ = kNoEndPort;
  NodePort port_;
};

// Records of one group that a query means.
class GroupQuery {
 public:
  GroupQuery(const SaView& view, const SaRequest& request, SaRecords& out)
      : view_(view), request_(request), asked_(request.record<McMemberRecord>()), out_(out) {}

  void add(const McGroup& group) {
    const std::uint64_t mask = request_.sa.component_mask;
    constexpr std::uint64_t kOfGroup = mad::component<McMemberRecord>("mgid") |
                                       mad::component<McMemberRecord>("mlid") |
                                       mad::component<McMemberRecord>("scope");
    if (!mad::matches(mask & kOfGroup, asked_, group.record) || !agrees(asked_, mask, group.record)) return;
    if (request_.has(mad::component<McMemberRecord>("port_gid"))) {
      const auto member = group.members.find(Guid(asked_.port_gid.low_half()));
      if (member != group.members.end()) add_member(group, member->first, member->second);
    } else if (request_.is_trusted) {
      for (const auto& [guid, member] : group.members) add_member(group, guid, member);
    } else if (!request_.has(mad::component<McMemberRecord>("join_state"))) {
      out_.add(group.record);
    }
  }

 private:
  /// Who is in a group is for trusted requests alone (IBTA 15.4.1).
  void add_member(const McGroup& group, Guid guid, const GroupMember& member) {
    McMemberRecord record = group.record;
    record.join_state = member.join_state;
    record.proxy_join = member.proxy_join;
    constexpr std::uint64_t kOfMember =
        mad::component<McMemberRecord>("join_state") | mad::component<McMemberRecord>("proxy_join");
    if (!mad::matches(request_.sa.component_mask & kOfMember, asked_, record)) return;
    if (!request_.is_trusted) return out_.add(group.record);
    record.port_gid = mad::gid_of(view_.options.ports.subnet_prefix, guid);
    out_.add(record);
  }

  const SaView& view_;
  const SaRequest& request_;
  McMemberRecord asked_;
  SaRecords& out_;
};

}  // namespace

SaStatus join_group(const SaView& view, MulticastGroups& groups, const SaRequest& request, SaRecords& out) {
  return MembershipRequest(view, groups, request).join(out);
}

SaStatus leave_group(const SaView& view, MulticastGroups& groups, const SaRequest& request, SaRecords& out) {
  return MembershipRequest(view, groups, request).leave(out);
}

void query_groups(const SaView& view, const MulticastGroups& groups, const SaRequest& request,
                  SaRecords& out) {
  const EndPortId requester = view.end_port(request.requester);
  if (requester == kNoEndPort) return;
  GroupQuery query(view, request, out);
  for (const auto& [mgid, group] : groups.all())
    if (has_p_key(view.database.p_keys_of(requester), group.record.p_key)) query.add(group);
}

}  // namespace softrnic::subnet
