#include "cma/memberships.h"

#include <cerrno>

#include "base/reason_id.h"
#include "cma/multicast_group.h"
#include "device/pkey.h"

namespace softrnic::cma {
namespace {

/// As Linux on RoCEv2: groups of IPv4 may lie behind routers.
constexpr std::uint8_t kIpv4HopLimit = 64;
constexpr std::uint8_t kOtherHopLimit = 1;

AddressVector group_vector(const Id& id, const wire::Gid& mgid) {
  AddressVector vector;
  vector.gid = mgid;
  vector.sgid_index = id.binding.gid_index;
  vector.hop_limit = mgid.is_ipv4() ? kIpv4HopLimit : kOtherHopLimit;
  vector.traffic_class = id.tos;
  return vector;
}

/// On InfiniBand packets to a group always have a GRH (IBTA 9.5.4).
AddressVector group_vector(const Id& id, const GroupRecord& record) {
  AddressVector vector;
  vector.gid = record.group;
  vector.flow_label = record.flow_label;
  vector.sgid_index = id.binding.gid_index;
  vector.hop_limit = record.hop_limit;
  vector.traffic_class = record.traffic_class;
  vector.sl = record.sl;
  vector.dlid = record.lid;
  vector.static_rate = record.rate;
  return vector;
}

/// The wildcard asks the subnet administrator for a group that nobody has.
bool is_group(const Id& id, const SocketAddress& group) {
  return group.is_multicast() || (group.is_any() && id.binding.has_lids());
}

GroupQuery group_query(const Id& id, std::uint32_t flags, const SocketAddress& group) {
  GroupQuery query;
  query.group = multicast_gid(group, id.binding.pkey, id.space);
  query.broadcast = broadcast_gid(id.binding.pkey);
  query.port_gid = id.binding.gid;
  query.port = id.binding.interface_index;
  query.pkey = id.binding.pkey;
  query.qkey = id.qkey;
  query.send_only = flags == RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER;
  return query;
}

bool fits(const GroupRecord& record, const GroupQuery& query) {
  const bool is_that = query.group.is_zero() ? record.group.is_multicast() : record.group == query.group;
  return is_that && record.lid.is_multicast() && record.qkey == query.qkey &&
         device::same_partition(record.pkey, query.pkey) && record.sl < 16 && record.rate < 64 &&
         record.flow_label < 1U << 20;
}

}  // namespace

Expected<MembershipNumber, Failure> Memberships::join(Id& id, std::uint64_t cookie, std::uint32_t flags,
                                                      const SocketAddress& group) {
  if (!id.binding) return Unexpected{refuse(EINVAL, ReasonId::cma_no_device)};
  if (id.binding.has_streams()) return Unexpected{refuse(EOPNOTSUPP, ReasonId::cma_streams_only)};
  if (!is_group(id, group) || flags >= RDMA_MC_JOIN_FLAG_RESERVED)
    return Unexpected{
        refuse(EINVAL, ReasonId::cma_group, group.host.high_half(), group.host.low_half(), flags)};
  if (!id.settle_qkey(0)) return Unexpected{refuse(EINVAL, ReasonId::cma_qkey, 0, id.qkey)};
  while (next_ == 0 || memberships_.contains(next_)) ++next_;
  const MembershipNumber number = next_++;
  Membership& membership = memberships_[number] = Membership{.id = id.number, .cookie = cookie};
  by_id_.emplace(id.number, number);
  if (id.binding.has_lids()) {
    ask(number, membership, group_query(id, flags, group));
  } else {
    tell_joined(id, number, membership, group_vector(id, group.host));
  }
  return number;
}

void Memberships::ask(MembershipNumber number, Membership& membership, const GroupQuery& query) {
  membership.asked = Asked::waits;
  membership.query = query;
  host_.join_group(number, query);
}

void Memberships::tell_joined(Id& id, MembershipNumber number, const Membership& membership,
                              const AddressVector& address) {
  Event event;
  event.kind = RDMA_CM_EVENT_MULTICAST_JOIN;
  event.membership = number;
  event.cookie = membership.cookie;
  event.parameters.qpn = Qpn::kMulticast;
  event.parameters.qkey = id.qkey;
  event.address = address;
  events_.tell(id, std::move(event));
}

void Memberships::tell_failed(Id& id, MembershipNumber number, Membership& membership,
                              const Failure& failure) {
  membership.asked = Asked::nothing;
  Event event;
  event.kind = RDMA_CM_EVENT_MULTICAST_ERROR;
  event.membership = number;
  event.cookie = membership.cookie;
  event.status = -failure.error;
  event.reason = failure.reason;
  events_.tell(id, std::move(event));
}

void Memberships::joined(MembershipNumber number, const GroupAnswer& answer) {
  const auto found = memberships_.find(number);
  if (found == memberships_.end() || found->second.asked != Asked::waits) return;
  Membership& membership = found->second;
  Id* const id = ids_.find(membership.id);
  if (id == nullptr || id->state == State::device_removal) return;
  if (!answer) return tell_failed(*id, number, membership, answer.error());
  membership.asked = Asked::joined;
  if (fits(*answer, membership.query))
    return tell_joined(*id, number, membership, group_vector(*id, *answer));
  withdraw(number, membership);
  tell_failed(*id, number, membership,
              refuse(EINVAL, ReasonId::cma_group_record, answer->group.high_half(), answer->group.low_half(),
                     answer->lid.value, answer->qkey));
}

void Memberships::withdraw(MembershipNumber number, const Membership& membership) {
  if (membership.asked != Asked::nothing) host_.leave_group(number);
}

Expected<std::uint32_t, Failure> Memberships::leave(MembershipNumber number) {
  const auto found = memberships_.find(number);
  Id* const id = found != memberships_.end() ? ids_.find(found->second.id) : nullptr;
  if (id == nullptr) return Unexpected{refuse(EADDRNOTAVAIL, ReasonId::cma_no_membership, number)};
  const std::uint32_t fetched = found->second.fetched;
  withdraw(number, found->second);
  events_.drop(*id, number);
  by_id_.erase({id->number, number});
  memberships_.erase(found);
  return fetched;
}

void Memberships::leave_all(IdNumber id) {
  const auto first = by_id_.lower_bound({id, 0});
  auto last = first;
  for (; last != by_id_.end() && last->first == id; ++last) {
    const auto membership = memberships_.find(last->second);
    withdraw(membership->first, membership->second);
    memberships_.erase(membership);
  }
  by_id_.erase(first, last);
}

IdNumber Memberships::id_of(MembershipNumber membership) const {
  const auto found = memberships_.find(membership);
  return found == memberships_.end() ? 0 : found->second.id;
}

void Memberships::count_fetched(MembershipNumber membership) {
  if (const auto found = memberships_.find(membership); found != memberships_.end()) ++found->second.fetched;
}

}  // namespace softrnic::cma
