// The addresses of this host: packets to them come back to it.
#pragma once

#include <algorithm>
#include <vector>

#include "device/device_info.h"

namespace softrnic::engine {

/// Not thread-safe: the lane's lock guards it.
class LocalAddresses {
 public:
  void set(const std::vector<device::GidEntry>& addresses) {
    gids_.clear();
    for (const device::GidEntry& entry : addresses) gids_.push_back(entry.gid);
  }
  bool has(const wire::Gid& address) const {
    return std::find(gids_.begin(), gids_.end(), address) != gids_.end();
  }

 private:
  std::vector<wire::Gid> gids_;
};

}  // namespace softrnic::engine
