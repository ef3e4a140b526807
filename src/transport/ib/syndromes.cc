#include "transport/ib/syndromes.h"

#include <array>

namespace softrnic::ib {
namespace {

using enum Counter;

// IBTA 9.9.3, responder error behaviour. Class C faults without a receive to blame raise an affiliated event.
constexpr std::array<FaultRule, 8> kFaults = {{
    {wire::kAckUnlimitedCredits, acks_sent, drop_malformed, false, QpEvent::fatal, Status::success},
    {wire::kRnrNak, rnr_nak_sent, drop_no_receive, false, QpEvent::fatal, Status::success},
    {wire::kNakInvalidRequest, nak_invalid_sent, drop_length, true, QpEvent::request_error, Status::flushed},
    {wire::kNakRemoteAccess, nak_access_sent, drop_access, true, QpEvent::access_error, Status::flushed},
    {wire::kNakInvalidRequest, nak_invalid_sent, drop_length, false, QpEvent::fatal, Status::local_length},
    {wire::kNakRemoteOperational, nak_operational_sent, drop_access, false, QpEvent::fatal,
     Status::local_protection},
    {wire::kAckUnlimitedCredits, acks_sent, drop_payload, false, QpEvent::fatal, Status::success},
    {wire::kNakRemoteAccess, nak_access_sent, drop_access, false, QpEvent::fatal,
     Status::remote_invalid_request},
}};

// IBTA 9.7.5.2.4 – 9.7.5.2.7; kNakInvalidRequest is the first.
constexpr std::array<NakRule, 3> kNaks = {{
    {Status::remote_invalid_request, nak_invalid_received},
    {Status::remote_access, nak_access_received},
    {Status::remote_operation, nak_operational_received},
}};

}  // namespace

const FaultRule& fault_rule(Fault fault) { return kFaults[static_cast<std::size_t>(fault)]; }

const NakRule* fatal_nak_rule(std::uint8_t syndrome) {
  const std::size_t index = std::size_t{syndrome} - wire::kNakInvalidRequest;
  return index < kNaks.size() ? &kNaks[index] : nullptr;
}

}  // namespace softrnic::ib
