#include "cma/memberships.h"

#include <cerrno>

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

}  // namespace

Expected<MembershipNumber, Failure> Memberships::join(Id& id, std::uint64_t cookie, std::uint32_t flags,
                                                      const SocketAddress& group) {
  if (!id.binding) return Unexpected{refuse(EINVAL, ReasonId::cma_no_device)};
  if (id.binding.has_streams()) return Unexpected{refuse(EOPNOTSUPP, ReasonId::cma_streams_only)};
  if (!group.is_multicast() || flags >= RDMA_MC_JOIN_FLAG_RESERVED)
    return Unexpected{
        refuse(EINVAL, ReasonId::cma_group, group.host.high_half(), group.host.low_half(), flags)};
  if (!id.settle_qkey(0)) return Unexpected{refuse(EINVAL, ReasonId::cma_qkey, 0, id.qkey)};
  while (next_ == 0 || memberships_.contains(next_)) ++next_;
  const MembershipNumber membership = next_++;
  memberships_.emplace(membership, Membership{id.number});
  by_id_.emplace(id.number, membership);
  Event event;
  event.kind = RDMA_CM_EVENT_MULTICAST_JOIN;
  event.membership = membership;
  event.cookie = cookie;
  event.parameters.qpn = Qpn::kMulticast;
  event.parameters.qkey = id.qkey;
  event.address = group_vector(id, group.host);
  events_.tell(id, std::move(event));
  return membership;
}

Expected<std::uint32_t, Failure> Memberships::leave(MembershipNumber membership) {
  const auto found = memberships_.find(membership);
  Id* const id = found != memberships_.end() ? ids_.find(found->second.id) : nullptr;
  if (id == nullptr) return Unexpected{refuse(EADDRNOTAVAIL, ReasonId::cma_no_membership, membership)};
  const std::uint32_t fetched = found->second.fetched;
  events_.drop(*id, membership);
  by_id_.erase({id->number, membership});
  memberships_.erase(found);
  return fetched;
}

void Memberships::leave_all(IdNumber id) {
  const auto first = by_id_.lower_bound({id, 0});
  auto last = first;
  for (; last != by_id_.end() && last->first == id; ++last) memberships_.erase(last->second);
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
