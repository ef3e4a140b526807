// Multicast groups of datagram ids.
#include <rdma/rdma_cma.h>

#include <cerrno>
#include <cstring>

#include "abi/calls.h"
#include "abi/export.h"
#include "abi/rdmacm/addresses.h"
#include "abi/rdmacm/events.h"
#include "base/reason_id.h"

namespace softrnic::rdmacm {
namespace {

using Memberships = std::list<Membership>;

Memberships::iterator enter(Id& id, const sockaddr_storage& address, std::uint32_t flags, void* context) {
  const std::lock_guard lock(id.memberships_mutex);
  const auto made = id.memberships.emplace(id.memberships.begin());
  made->id = &id;
  made->context = context;
  made->cookie = id.session->next_cookie();
  made->flags = flags;
  made->address = address;
  id.session->memberships.put(made->cookie, *made);
  return made;
}

/// The membership with this address, taken out of the id's list; empty when there is none.
Memberships take(Id& id, const sockaddr_storage& address) {
  Memberships taken;
  const std::lock_guard lock(id.memberships_mutex);
  for (auto at = id.memberships.begin(); at != id.memberships.end(); ++at) {
    if (std::memcmp(&at->address, &address, sizeof address) != 0) continue;
    taken.splice(taken.begin(), id.memberships, at);
    break;
  }
  return taken;
}

Expected<void, Failure> join(Id& id, const sockaddr* group, std::uint32_t flags, void* context) {
  const auto address = checked_address(group);
  if (!address) return Unexpected{address.error()};
  const auto entered = enter(id, *address, flags, context);
  const auto number =
      id.session->heard(id.session->daemon.join_multicast(id.number, *address, flags, entered->cookie));
  if (!number) {
    id.session->memberships.remove(entered->cookie);
    const std::lock_guard lock(id.memberships_mutex);
    id.memberships.erase(entered);
    return Unexpected{number.error()};
  }
  entered->number = *number;
  return complete(id);
}

Expected<void, Failure> leave(Id& id, const sockaddr* group) {
  const auto address = checked_address(group);
  if (!address) return Unexpected{address.error()};
  Memberships taken = take(id, *address);
  if (taken.empty()) return rnic::refused(EADDRNOTAVAIL, ReasonId::rdma_no_member);
  Membership& membership = taken.front();
  if (id.qp != nullptr && membership.attached) ibv_detach_mcast(id.qp, &membership.group, membership.lid);
  const auto fetched = id.session->heard(id.session->daemon.leave_multicast(id.number, membership.number));
  if (fetched) membership.account.wait(*fetched, ObjectKind::membership);
  id.session->memberships.remove(membership.cookie);
  if (!fetched) return Unexpected{fetched.error()};
  return {};
}

Expected<void, Failure> join_extended(Id& id, const rdma_cm_join_mc_attr_ex& attributes, void* context) {
  constexpr std::uint32_t kNeeded = RDMA_CM_JOIN_MC_ATTR_ADDRESS | RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS;
  const auto bad = [&](int error) {
    return rnic::refused(error, ReasonId::rdma_bad_mask, attributes.comp_mask, attributes.join_flags);
  };
  if (attributes.comp_mask >= RDMA_CM_JOIN_MC_ATTR_RESERVED) return bad(ENOTSUP);
  if ((attributes.comp_mask & kNeeded) != kNeeded) return bad(EINVAL);
  if (attributes.join_flags >= RDMA_MC_JOIN_FLAG_RESERVED) return bad(EINVAL);
  return join(id, attributes.addr, attributes.join_flags, context);
}

}  // namespace
}  // namespace softrnic::rdmacm

using namespace softrnic;
using namespace softrnic::rdmacm;

SOFTRNIC_EXPORT int rdma_join_multicast(rdma_cm_id* id, sockaddr* addr, void* context) {
  return abi::minus_one_call([&]() -> Expected<void, Failure> {
    if (id == nullptr) return abi::null_argument();
    return join(*Id::of(id), addr, RDMA_MC_JOIN_FLAG_FULLMEMBER, context);
  });
}

SOFTRNIC_EXPORT int rdma_join_multicast_ex(rdma_cm_id* id, rdma_cm_join_mc_attr_ex* mc_join_attr,
                                           void* context) {
  return abi::minus_one_call([&]() -> Expected<void, Failure> {
    if (id == nullptr || mc_join_attr == nullptr) return abi::null_argument();
    return join_extended(*Id::of(id), *mc_join_attr, context);
  });
}

SOFTRNIC_EXPORT int rdma_leave_multicast(rdma_cm_id* id, sockaddr* addr) {
  return abi::minus_one_call([&]() -> Expected<void, Failure> {
    if (id == nullptr) return abi::null_argument();
    return leave(*Id::of(id), addr);
  });
}
