// The virtual lanes of a port as JSON: what waits, and for how many credits.
#pragma once

#include "base/time.h"
#include "fabric/engine_port.h"
#include "text/json.h"

namespace softrnic::fabricd {

/// A row for each data VL that is operational.
Json vls_json(const fabric::EnginePort& port, TimePoint now);

}  // namespace softrnic::fabricd
