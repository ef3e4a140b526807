// What the codes for times in connection messages and packets stand for.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace softrnic::ib {

/// 4.096 us · 2^code; code 0 never expires (kNever's distance is not a Duration: returns Duration::max()).
Duration ack_timeout(std::uint8_t code);
/// The delay an RNR timer code stands for (IBTA 9.7.5.2.8, table 45).
Duration rnr_delay(std::uint8_t code);

}  // namespace softrnic::ib
