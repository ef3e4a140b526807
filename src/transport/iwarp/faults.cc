#include "transport/iwarp/faults.h"

#include <array>

#include "base/reason_id.h"

namespace softrnic::iwarp {
namespace {

using enum wire::TerminateError;
using enum ib::QpEvent;
using ib::Status;

constexpr Status kFlushed = Status::flushed;

constexpr std::array<FaultRule, 25> kRules{{
    {rdmap_catastrophic, false, fatal, kFlushed, kFlushed},  // none
    {mpa_crc, true, fatal, kFlushed, kFlushed},
    {mpa_marker, true, fatal, kFlushed, kFlushed},
    {mpa_marker, true, fatal, kFlushed, kFlushed},  // segment: the length is what cannot be right
    {ddp_tagged_version, true, fatal, kFlushed, kFlushed},
    {ddp_untagged_version, true, fatal, kFlushed, kFlushed},
    {rdmap_version, true, fatal, kFlushed, kFlushed},
    {rdmap_opcode, true, fatal, kFlushed, kFlushed},
    {ddp_queue, true, fatal, kFlushed, kFlushed},
    {ddp_msn_range, true, fatal, kFlushed, kFlushed},
    {ddp_message_offset, true, fatal, kFlushed, kFlushed},
    {ddp_no_buffer, true, request_error, kFlushed, kFlushed},  // no_receive
    {ddp_too_long, false, fatal, Status::local_length, kFlushed},
    {ddp_catastrophic, false, fatal, Status::local_protection, kFlushed},
    {rdmap_operation_unspecified, true, request_error, kFlushed, kFlushed},  // body
    {ddp_too_long, true, request_error, kFlushed, kFlushed},
    {ddp_stag, true, access_error, kFlushed, kFlushed},
    {rdmap_stag, true, access_error, kFlushed, kFlushed},
    {ddp_no_buffer, true, request_error, kFlushed, kFlushed},  // read_resources: queue 1 has IRD buffers
    {rdmap_cannot_invalidate, false, fatal, Status::remote_invalid_request, kFlushed},
    {rdmap_stream_catastrophic, true, request_error, kFlushed, kFlushed},
    {ddp_stag, true, fatal, kFlushed, kFlushed},       // unasked_tagged
    {ddp_no_buffer, true, fatal, kFlushed, kFlushed},  // unasked
    {ddp_bounds, false, fatal, kFlushed, Status::bad_response},
    {rdmap_catastrophic, false, fatal, kFlushed, Status::local_protection},
}};
static_assert(kRules.size() == static_cast<std::size_t>(Fault::sink_memory) + 1);

// Why a key does not allow an access, as DDP tells it of a WRITE and RDMAP of a READ or atomic. What
// stands in no row has no valid key at all.
struct KeyRule {
  ReasonId reason;
  wire::TerminateError tagged, request;
};
constexpr KeyRule kKeyRules[] = {
    {ReasonId::nak_rkey_range, ddp_bounds, rdmap_bounds},
    {ReasonId::nak_rkey_access, ddp_stag, rdmap_access},      // DDP has no code of its own for rights
    {ReasonId::iwarp_qp_access, rdmap_access, rdmap_access},  // no STag is at fault
    {ReasonId::nak_rkey_other_pd, ddp_stag_stream, rdmap_stag_stream},
    {ReasonId::nak_window_other_qp, ddp_stag_stream, rdmap_stag_stream},
};

// By layer and type (RFC 5040 4.8)
struct PeerRule {
  std::uint8_t layer_and_type;
  Status status;
  ib::QpEvent event;
};
constexpr PeerRule kPeerRules[] = {
    {0x01, Status::remote_access, access_error},
    {0x02, Status::remote_invalid_request, request_error},
    {0x11, Status::remote_access, access_error},
    {0x12, Status::remote_invalid_request, request_error},
};
constexpr PeerRule kOther{0, Status::remote_operation, fatal};

const PeerRule& peer_rule(std::uint16_t error) {
  for (const PeerRule& rule : kPeerRules)
    if (rule.layer_and_type == error >> 8) return rule;
  return kOther;
}

}  // namespace

const FaultRule& fault_rule(Fault fault) { return kRules[static_cast<std::size_t>(fault)]; }

wire::TerminateError terminate_error(const Verdict& verdict) {
  if (verdict.fault == Fault::tagged || verdict.fault == Fault::request) {
    for (const KeyRule& rule : kKeyRules)
      if (rule.reason == verdict.reason.id)
        return verdict.fault == Fault::tagged ? rule.tagged : rule.request;
  }
  return fault_rule(verdict.fault).error;
}

Fault fault_of(StreamFault fault) {
  constexpr Fault kFaults[] = {Fault::crc, Fault::marker, Fault::segment};
  return kFaults[static_cast<std::size_t>(fault)];
}

ib::Status status_of(std::uint16_t terminate_error) { return peer_rule(terminate_error).status; }
ib::QpEvent event_of(std::uint16_t terminate_error) { return peer_rule(terminate_error).event; }

}  // namespace softrnic::iwarp
