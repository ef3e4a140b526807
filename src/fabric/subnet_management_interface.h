// The subnet management interface of a node: where a packet with a directed route goes (IBTA 14.2.2).
//
// A route has up to three parts: to a switch by its LID, from there port by port, and on by a LID. The first
// and the last may be empty, which DrSLID and DrDLID say by being permissive. The same way leads back.
#pragma once

#include <cstdint>

#include "mad/smp.h"
#include "wire/lid.h"

namespace softrnic::fabric {

/// How a packet came to the node that has it.
enum class SmpArrival : std::uint8_t {
  here,           ///< it begins here: a manager asks, or the agent answers
  by_permissive,  ///< from the neighbor, on the part that goes port by port
  by_lid,         ///< to a LID of this node
};

struct SmpPlace {
  bool is_switch = false;
  std::uint8_t num_ports = 0;  ///< external ones, numbered from 1
  /// Where it came in; of an adapter's own packet the port through which it is sent, of a switch's own 0.
  std::uint8_t port = 0;
  SmpArrival arrival = SmpArrival::by_permissive;
};

enum class SmpAction : std::uint8_t {
  drop,      ///< a route that no honest node could have made
  deliver,   ///< its way ends here: to the agent, or to what manages here
  finish,    ///< it is back where it began, an answer: to the manager that asked
  transmit,  ///< out of SmpDecision::port, to the permissive LID
  forward,   ///< to SmpDecision::lid, as the tables lead
};

struct SmpDecision {
  SmpAction action = SmpAction::drop;
  std::uint8_t port = 0;
  wire::Lid lid{};

  bool operator==(const SmpDecision&) const = default;
};

/// Decides on a packet of the class of directed routes, and writes down the hop in it.
SmpDecision route_directed_smp(mad::Smp& smp, const SmpPlace& place);

}  // namespace softrnic::fabric
