#include "engine/multicast_groups.h"

#include <algorithm>

namespace softrnic::engine {

bool MulticastGroups::anybody(const wire::Gid& group, std::uint32_t interface_index) const {
  return std::any_of(memberships_.begin(), memberships_.end(), [&](const Membership& membership) {
    return membership.group == group && membership.interface_index == interface_index;
  });
}

bool MulticastGroups::join(link::Link& link, rnic::QueuePair& qp, const wire::Gid& group,
                           std::uint32_t interface_index) {
  const bool member = std::any_of(
      memberships_.begin(), memberships_.end(),
      [&](const Membership& membership) { return membership.group == group && membership.qp == &qp; });
  if (member) return true;
  const bool first = !anybody(group, interface_index);
  memberships_.push_back({group, &qp, interface_index});
  if (!first || link.join(group, interface_index)) return true;
  memberships_.pop_back();
  return false;
}

bool MulticastGroups::leave(link::Link& link, rnic::QueuePair& qp, const wire::Gid& group) {
  const auto found = std::find_if(
      memberships_.begin(), memberships_.end(),
      [&](const Membership& membership) { return membership.group == group && membership.qp == &qp; });
  if (found == memberships_.end()) return false;
  const std::uint32_t interface_index = found->interface_index;
  memberships_.erase(found);
  if (!anybody(group, interface_index)) link.leave(group, interface_index);
  return true;
}

void MulticastGroups::leave_all(link::Link& link, rnic::QueuePair& qp) {
  for (;;) {
    const auto found = std::find_if(memberships_.begin(), memberships_.end(),
                                    [&](const Membership& membership) { return membership.qp == &qp; });
    if (found == memberships_.end()) return;
    const wire::Gid group = found->group;
    leave(link, qp, group);
  }
}

}  // namespace softrnic::engine
