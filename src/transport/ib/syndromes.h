// What goes wrong on one side and how the other side is told, in two tables (IBTA 9.7.5.2, 9.9.2, 9.9.3).
//
//   Fault      what the responder found  → NAK syndrome, event, status of the receive it spoils
//   syndrome   what the requester is told → completion status, counter
#pragma once

#include <cstdint>
#include <optional>

#include "transport/ib/types.h"

namespace softrnic::ib {

/// What can be wrong with a request that is in sequence.
enum class Fault : std::uint8_t {
  none,
  no_receive,       ///< RNR
  invalid_request,  ///< opcode, its order, lengths, alignment, QP access, read resources
  remote_access,    ///< the rkey does not allow it
  receive_short,    ///< the posted receive is too short
  receive_memory,   ///< the posted receive's lkey does not allow it
  payload_gone,  ///< the payload could not be fetched: as if the packet had been lost; RC asks for it again
  invalidate,    ///< SEND_WITH_INV names a key that this QP may not invalidate
};

struct Verdict {
  Fault fault = Fault::none;
  Reason reason;
  explicit operator bool() const { return fault == Fault::none; }
};

struct FaultRule {
  std::uint8_t syndrome;
  Counter nak_counter;
  Counter drop_counter;  ///< UC, which does not NAK
  bool has_event;        ///< no receive completion tells the program, so an event must
  QpEvent event;
  Status receive_status;  ///< of the receive in use; flushed when it is not at fault
};

/// Not for Fault::none.
const FaultRule& fault_rule(Fault fault);

struct NakRule {
  Status status;
  Counter counter;
};

/// The rule of a NAK syndrome that ends the work request; nullptr for the others and for undefined ones.
const NakRule* fatal_nak_rule(std::uint8_t syndrome);

}  // namespace softrnic::ib
