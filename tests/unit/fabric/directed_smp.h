// Directed-route SMPs as a manager begins them, for tests and fuzzers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "mad/smp.h"

namespace softrnic::fabric {

/// Ports to leave by, hop after hop.
using Path = std::vector<std::uint8_t>;

inline mad::Smp directed(const Path& path) {
  mad::Smp smp;
  smp.management_class = mad::ManagementClass::subnet_directed_route;
  smp.dr_slid = smp.dr_dlid = wire::kPermissiveLid;
  smp.hop_count = static_cast<std::uint8_t>(path.size());
  std::copy(path.begin(), path.end(), smp.initial_path.begin() + 1);
  return smp;
}

}  // namespace softrnic::fabric
