// How much of a file this host's memory can hold.
#pragma once

#include <cstdint>
#include <string>

namespace softrnic::copy {

/// Bytes that the page cache can take before it has to give up others: what /proc/meminfo calls available,
/// within what the control groups of this process allow (version 1 or 2). All there is when nothing can be
/// learnt. `root` stands in front of the paths of /proc and /sys.
std::uint64_t room_in_page_cache(const std::string& root = {});

}  // namespace softrnic::copy
