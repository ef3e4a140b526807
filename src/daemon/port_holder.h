// Who holds UDP port 4791 when this daemon cannot have it.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "base/reason.h"

namespace softrnic::daemon {

struct PortHolder {
  std::uint32_t uid = 0;
  std::uint64_t inode = 0;
};

/// The sockets bound to `port` in the text of /proc/net/udp or udp6.
std::vector<PortHolder> holders_in(std::string_view table, std::uint16_t port);

/// The sockets bound to the port of RoCEv2 in this network namespace.
std::vector<PortHolder> holders_of_port();

/// Looks around and says what it found: port_taken_user, port_taken_kernel or port_taken_unknown.
Reason who_holds_the_port();

}  // namespace softrnic::daemon
