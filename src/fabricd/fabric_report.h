// A fabric as JSON: what `softrnic fabric show` shows.
#pragma once

#include <string>

#include "fabricd/emulated_fabric.h"

namespace softrnic::fabricd {

/// All nodes with their ports, links, addresses and counters; and the subnet manager.
std::string report(const EmulatedFabric& fabric);
/// What the subnet manager has told.
std::string manager_log(const EmulatedFabric& fabric);

}  // namespace softrnic::fabricd
