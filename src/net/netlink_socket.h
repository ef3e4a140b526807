// rtnetlink(7) as sockets and messages: what every question to the kernel's network tables has in common.
#pragma once

#include <linux/rtnetlink.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>

#include "base/unique_fd.h"

namespace softrnic::net {

/// A socket for questions to the kernel; with `groups` (RTMGRP_…) also one that hears of changes. Needs no
/// privilege. Invalid, with errno set, when the kernel refuses.
UniqueFd open_netlink(std::uint32_t groups);

/// Calls visit(unsigned type, std::span<const std::uint8_t> value) for each attribute. Attributes that point
/// beyond `left` end the walk.
template <typename Visit>
void each_attribute(std::span<const std::uint8_t> left, Visit&& visit) {
  while (left.size() >= sizeof(rtattr)) {
    rtattr attribute;
    std::memcpy(&attribute, left.data(), sizeof attribute);
    if (attribute.rta_len < sizeof attribute || attribute.rta_len > left.size()) return;
    visit(unsigned{attribute.rta_type}, left.subspan(RTA_LENGTH(0), attribute.rta_len - RTA_LENGTH(0)));
    const std::size_t next = RTA_ALIGN(attribute.rta_len);
    if (next >= left.size()) return;
    left = left.subspan(next);
  }
}

/// The same for the attributes behind a message's fixed part; the message lies in memory up to its nlmsg_len.
template <typename Fixed, typename Visit>
void each_attribute(const nlmsghdr& message, Visit&& visit) {
  if (message.nlmsg_len < NLMSG_SPACE(sizeof(Fixed))) return;
  std::span left(reinterpret_cast<const std::uint8_t*>(&message), message.nlmsg_len);
  each_attribute(left.subspan(NLMSG_SPACE(sizeof(Fixed))), std::forward<Visit>(visit));
}

}  // namespace softrnic::net
