// The words of `softrnic link add`, in the manner of iproute2: NAME type TYPE netdev DEV.
#pragma once

#include <string>
#include <vector>

#include "device/device_kind.h"

namespace softrnic::cli {

struct LinkOptions {
  std::string name, netdev;
  device::Kind kind = device::Kind::roce_v2;
};

/// What is wrong with the words; empty: nothing is, and `options` holds what they say.
std::string parse_link(const std::vector<std::string>& words, LinkOptions& options);

}  // namespace softrnic::cli
