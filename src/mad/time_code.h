// Times as management datagrams write them: a 5-bit code for 4.096 µs · 2^code (IBTA 13.4.6.2 and many
// others).
#pragma once

#include <cstdint>

#include "base/time.h"

namespace softrnic::mad {

/// Of the low 5 bits: 4.096 µs to 2.4 hours.
constexpr Duration time_of(std::uint8_t code) { return Duration(std::int64_t{4096} << (code & 31)); }

}  // namespace softrnic::mad
