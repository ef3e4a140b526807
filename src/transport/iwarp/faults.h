// What can be wrong with what a peer sends, what a Terminate message then says, and what this side's
// program is told: one table (RFC 5040 4.8, 7; RFC 5041 7; RFC 5044 8; RFC 7306 8).
#pragma once

#include "transport/ib/types.h"
#include "transport/iwarp/segment.h"
#include "wire/terminate.h"

namespace softrnic::iwarp {

enum class Fault : std::uint8_t {
  none,
  crc,
  marker,
  segment,  ///< too short for its header
  ddp_version_tagged,
  ddp_version_untagged,
  rdmap_version,
  opcode,  ///< not known, of the wrong kind, or within another message
  queue,
  sequence,  ///< MSN
  offset,    ///< MO
  no_receive,
  receive_short,    ///< the posted receive is too short
  receive_memory,   ///< its lkey does not allow it
  body,             ///< a header of fixed length is shorter
  body_long,        ///< or longer
  tagged,           ///< a WRITE's STag does not allow it; the reason tells why
  request,          ///< nor that of a READ or atomic
  read_resources,   ///< more READs and atomics than IRD
  invalidate,       ///< SEND with Invalidate names a key that may not be invalidated
  atomic,           ///< unknown operation, alignment, or a word that stays in other hands
  unasked_tagged,   ///< a READ response that nobody waits for, or for another STag
  unasked,          ///< an atomic response that nobody waits for
  response_bounds,  ///< a READ response beside its sink
  sink_memory,      ///< the sink of a READ or atomic is not this side's any more
};

struct Verdict {
  Fault fault = Fault::none;
  Reason reason;
  explicit operator bool() const { return fault == Fault::none; }
};

struct FaultRule {
  wire::TerminateError error;
  bool has_event;
  ib::QpEvent event;
  ib::Status receive_status;  ///< of the receive in use
  ib::Status answer_status;   ///< of the work request whose answer it is; flushed: it is not at fault
};

/// Not for Fault::none.
const FaultRule& fault_rule(Fault fault);
/// What a Terminate message says of it: the rule's, or for an STag what the reason comes to.
wire::TerminateError terminate_error(const Verdict& verdict);
Fault fault_of(StreamFault fault);

/// What befalls the requester whose peer has sent this error about a READ or atomic of its own, and the
/// program of which nothing can be blamed.
ib::Status status_of(std::uint16_t terminate_error);
ib::QpEvent event_of(std::uint16_t terminate_error);

}  // namespace softrnic::iwarp
