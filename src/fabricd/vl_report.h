// The virtual lanes of a port as JSON: what waits, and for how many credits.
#pragma once

#include <nlohmann/json.hpp>

#include "base/time.h"
#include "fabric/engine_port.h"

namespace softrnic::fabricd {

/// A row for each data VL that is operational.
nlohmann::ordered_json vls_json(const fabric::EnginePort& port, TimePoint now);

}  // namespace softrnic::fabricd
