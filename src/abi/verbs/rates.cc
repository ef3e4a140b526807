// Static rates: enumerator, multiple of 2.5 Gbit/s, and Mbit/s with the encoding overhead of each generation.
#include <infiniband/verbs.h>

#include <array>

#include "abi/export.h"

namespace {

struct Rate {
  ibv_rate rate;
  int mult;  ///< 0: the rate has no multiple of its own
  int mbps;
};

constexpr std::array kRates = {
    Rate{IBV_RATE_2_5_GBPS, 1, 2500},       Rate{IBV_RATE_5_GBPS, 2, 5000},
    Rate{IBV_RATE_10_GBPS, 4, 10000},       Rate{IBV_RATE_20_GBPS, 8, 20000},
    Rate{IBV_RATE_30_GBPS, 12, 30000},      Rate{IBV_RATE_40_GBPS, 16, 40000},
    Rate{IBV_RATE_60_GBPS, 24, 60000},      Rate{IBV_RATE_80_GBPS, 32, 80000},
    Rate{IBV_RATE_120_GBPS, 48, 120000},    Rate{IBV_RATE_14_GBPS, 0, 14062},
    Rate{IBV_RATE_56_GBPS, 0, 56250},       Rate{IBV_RATE_112_GBPS, 0, 112500},
    Rate{IBV_RATE_168_GBPS, 0, 168750},     Rate{IBV_RATE_25_GBPS, 0, 25781},
    Rate{IBV_RATE_100_GBPS, 0, 103125},     Rate{IBV_RATE_200_GBPS, 0, 206250},
    Rate{IBV_RATE_300_GBPS, 0, 309375},     Rate{IBV_RATE_28_GBPS, 11, 28125},
    Rate{IBV_RATE_50_GBPS, 20, 53125},      Rate{IBV_RATE_400_GBPS, 160, 425000},
    Rate{IBV_RATE_600_GBPS, 240, 637500},   Rate{IBV_RATE_800_GBPS, 320, 850000},
    Rate{IBV_RATE_1200_GBPS, 480, 1275000},
};

}  // namespace

SOFTRNIC_EXPORT int ibv_rate_to_mult(ibv_rate rate) {
  for (const Rate& row : kRates)
    if (row.rate == rate && row.mult != 0) return row.mult;
  return -1;
}

SOFTRNIC_EXPORT ibv_rate mult_to_ibv_rate(int mult) {
  for (const Rate& row : kRates)
    if (row.mult == mult && mult != 0) return row.rate;
  return IBV_RATE_MAX;
}

SOFTRNIC_EXPORT int ibv_rate_to_mbps(ibv_rate rate) {
  for (const Rate& row : kRates)
    if (row.rate == rate) return row.mbps;
  return -1;
}

SOFTRNIC_EXPORT ibv_rate mbps_to_ibv_rate(int mbps) {
  for (const Rate& row : kRates)
    if (row.mbps == mbps) return row.rate;
  return IBV_RATE_MAX;
}
