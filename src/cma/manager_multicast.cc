// Multicast groups. RoCE has no subnet administrator: the address of a group is its GID, and whoever attaches
// a queue pair belongs to it.
#include <cerrno>

#include "cma/manager.h"

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

Expected<MembershipNumber, Failure> Manager::join_multicast(IdNumber number, std::uint64_t cookie,
                                                            std::uint32_t flags, const SocketAddress& group) {
  const auto found = ids_.find_for(number, Call::join_multicast);
  if (!found) return Unexpected{found.error()};
  Id& id = **found;
  if (!id.binding) return Unexpected{refuse(EINVAL, ReasonId::cma_no_device)};
  if (!group.is_multicast() || flags >= RDMA_MC_JOIN_FLAG_RESERVED)
    return Unexpected{
        refuse(EINVAL, ReasonId::cma_group, group.host.high_half(), group.host.low_half(), flags)};
  if (!set_qkey(id, 0)) return Unexpected{refuse(EINVAL, ReasonId::cma_qkey, 0, id.qkey)};
  while (next_membership_ == 0 || memberships_.contains(next_membership_)) ++next_membership_;
  const MembershipNumber membership = next_membership_++;
  memberships_.emplace(membership, number);
  id.memberships.emplace(membership, Membership{group, group.host, cookie, 0});
  Event event;
  event.kind = RDMA_CM_EVENT_MULTICAST_JOIN;
  event.membership = membership;
  event.cookie = cookie;
  event.parameters.qpn = Qpn::kMulticast;
  event.parameters.qkey = id.qkey;
  event.address = group_vector(id, group.host);
  queue(id, std::move(event));
  return membership;
}

Expected<std::uint32_t, Failure> Manager::leave_multicast(MembershipNumber membership) {
  Id* id = ids_.find(id_of(membership));
  if (id == nullptr) return Unexpected{refuse(EADDRNOTAVAIL, ReasonId::cma_no_membership, membership)};
  const std::uint32_t fetched = id->memberships.at(membership).fetched;
  drop_events(*id, membership);
  id->memberships.erase(membership);
  memberships_.erase(membership);
  return fetched;
}

IdNumber Manager::id_of(MembershipNumber membership) const {
  const auto it = memberships_.find(membership);
  return it == memberships_.end() ? 0 : it->second;
}

}  // namespace softrnic::cma
