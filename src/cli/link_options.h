// The words of `softrnic link add`, in the manner of iproute2.
#pragma once

#include <string>
#include <vector>

#include "device/device_info.h"

namespace softrnic::cli {

inline constexpr const char* kLinkWords =
    "NAME [type rocev2|iwarp] [crc on|off] [markers on|off] netdev DEV; crc and markers: of iWARP alone";

/// What is wrong with the words; empty: nothing is, and `device` is what they say.
std::string parse_link(const std::vector<std::string>& words, device::NewDevice& device);

}  // namespace softrnic::cli
