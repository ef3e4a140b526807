#include "transport/ib/timers.h"

#include <array>

namespace softrnic::ib {
namespace {

// IBTA 9.7.5.2.8, table 45, in units of 10 us. Code 0 is the longest.
constexpr std::array<std::uint32_t, 32> kRnrDelays = {
    65536, 1,   2,   3,   4,    6,    8,    12,   16,   24,   32,   48,    64,    96,    128,   192,
    256,   384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152};

}  // namespace

Duration ack_timeout(std::uint8_t code) {
  if ((code & 31) == 0) return Duration::max();
  return Duration(std::int64_t{4096} << (code & 31));  // IBTA 9.7.6.1.3
}

Duration rnr_delay(std::uint8_t code) { return std::chrono::microseconds(10) * kRnrDelays[code & 31]; }

}  // namespace softrnic::ib
