// A fabric as JSON: what `softrnic fabric show` shows.
#pragma once

#include <string>

#include "base/time.h"

namespace softrnic::fabricd {

class EmulatedFabric;

struct ReportWish {
  bool vls = false;  ///< virtual lanes of each port, too
  TimePoint now{};
};

/// All nodes with their ports, links, addresses, load and counters; and the subnet manager.
std::string report(const EmulatedFabric& fabric, const ReportWish& wish);
/// What the subnet manager has told.
std::string manager_log(const EmulatedFabric& fabric);

}  // namespace softrnic::fabricd
