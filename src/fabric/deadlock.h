// Credit deadlocks: buffers that wait for each other in a circle, for ever where no lifetime ends it.
#pragma once

#include <string>
#include <vector>

#include "fabric/engine.h"

namespace softrnic::fabric {

/// The head of an input buffer waits for room in the buffer at the other end of an output port's cable.
struct CreditWait {
  NodeId node;
  std::uint8_t input_port = 0;  ///< whose buffer it is
  std::uint8_t input_vl = 0;
  std::uint8_t output_port = 0;
  std::uint8_t output_vl = 0;
};

/// A circle of them, each waiting for the next and the last for the first; empty when there is none now. What
/// is still under way makes none.
std::vector<CreditWait> find_credit_cycle(const Engine& engine);

/// "node 1 port 2 VL 0 > port 3 VL 0, node 2 ...", with the numbers of NodeId; for people.
std::string to_string(const std::vector<CreditWait>& cycle);

}  // namespace softrnic::fabric
