// Which faults to inject: the value of SOFTRNIC_FAULTS.
//
//   plan  = fault *("," fault)
//   fault = ("drop" | "dup" | "reorder" | "corrupt" | "cut" | "stall" | "split") "=" chance
//         | "delay=" time | "seed=" number
//   chance = number "%" | number from 0 to 1         time = number ("ns" | "us" | "ms" | "s")
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/expected.h"
#include "base/time.h"

namespace softrnic::link {

/// Chances are from 0 to 1, independent of one another, and apply to each packet sent; of iWARP, to each
/// write to a stream of TCP, which hides what the others of them do.
struct FaultPlan {
  double drop = 0;
  double duplicate = 0;
  double reorder = 0;  ///< held back behind up to kReorderDepth packets
  double corrupt = 0;  ///< one bit flipped; of streams, too
  double cut = 0;      ///< streams: the connection is reset
  double stall = 0;    ///< streams: nothing is written for StreamFaults::kStall
  double split = 0;    ///< streams: a few bytes are written, and the rest later
  Duration delay{};    ///< of every packet
  std::uint64_t seed = 1;

  bool any() const {
    return drop > 0 || duplicate > 0 || reorder > 0 || delay > Duration::zero() || any_of_streams();
  }
  bool any_of_streams() const { return corrupt > 0 || cut > 0 || stall > 0 || split > 0; }
};

/// The plan, or a sentence that says what is wrong and what was expected.
Expected<FaultPlan, std::string> parse_fault_plan(std::string_view text);

}  // namespace softrnic::link
