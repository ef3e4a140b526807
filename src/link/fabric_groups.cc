#include "link/fabric_groups.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace softrnic::link {

std::vector<FabricGroups::Membership>::iterator FabricGroups::find(const wire::Gid& group,
                                                                   std::uint8_t port) {
  return std::find_if(memberships_.begin(), memberships_.end(), [&](const Membership& membership) {
    return membership.port == port && membership.group == group;
  });
}

bool FabricGroups::join(const wire::Gid& group, std::uint8_t port) {
  auto membership = find(group, port);
  if (membership == memberships_.end()) {
    if (memberships_.size() >= kMostFabricGroups) {
      errno = ENOBUFS;
      return false;
    }
    membership = memberships_.insert(membership, {group, port});
  }
  membership->joined = true;
  tell();
  return find(group, port) != memberships_.end();
}

bool FabricGroups::leave(const wire::Gid& group, std::uint8_t port) {
  const auto membership = find(group, port);
  if (membership == memberships_.end() || !membership->joined) return false;
  membership->joined = false;
  tell();
  return true;
}

void FabricGroups::tell() {
  for (Membership& membership : memberships_)
    if (!membership.is_told() && !tell(membership)) break;
  std::erase_if(memberships_,
                [](const Membership& membership) { return !membership.joined && !membership.known; });
  const bool all_told = std::all_of(memberships_.begin(), memberships_.end(),
                                    [](const Membership& membership) { return membership.is_told(); });
  has_untold_.store(!all_told, std::memory_order_relaxed);
}

bool FabricGroups::tell(Membership& membership) const {
  const FabricHeader header{membership.joined ? FabricMessageType::join : FabricMessageType::leave,
                            membership.port, 0};
  std::byte message[sizeof header + sizeof membership.group.raw];
  std::memcpy(message, &header, sizeof header);
  std::memcpy(message + sizeof header, membership.group.raw.data(), sizeof membership.group.raw);
  const int error = send_fabric_message(fd_, message);
  if (error == EAGAIN) return false;
  errno = error;
  if (error != 0) membership.joined = false;  // where there is no fabric there are no members
  membership.known = membership.joined;
  return true;
}

}  // namespace softrnic::link
