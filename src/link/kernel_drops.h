// What the kernel says of packets that it has dropped in this network namespace (RFC 4113, RFC 4293).
#pragma once

#include <string_view>

#include "base/kernel_drop.h"

namespace softrnic::link {

/// From the text of these files of /proc/net; 0 for what does not stand there. What is no such text has none.
KernelDropCounts parse_kernel_drops(std::string_view snmp, std::string_view netstat, std::string_view snmp6);

/// As they are now, for the calling thread. Opens and reads three files; does not allocate.
KernelDropCounts kernel_drops();

}  // namespace softrnic::link
