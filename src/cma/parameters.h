// The rules for what a program gives rdma_connect and rdma_accept.
#pragma once

#include <algorithm>
#include <cstdint>

#include "cm/types.h"
#include "cma/types.h"
#include "rnic/limits.h"

namespace softrnic::cma {

/// Retry counts have 3 bits. More is taken for this: fio asks for 10.
inline constexpr std::uint8_t kMostRetries = 7;

/// Reads that a queue pair of this device can have under way, whichever side starts them.
constexpr std::uint8_t within_device(std::uint8_t reads) {
  return std::min(reads, rnic::limits::kMaxReadsPerQp);
}

/// What a REQ or REP says of this side.
inline cm::Endpoint endpoint_of(const ConnectionParameters& parameters, std::uint32_t starting_psn,
                                const cm::Ece& ece) {
  cm::Endpoint endpoint;
  endpoint.qpn = Qpn(parameters.qpn & 0xffffff);
  endpoint.qkey = parameters.qkey;
  endpoint.starting_psn = starting_psn;
  endpoint.responder_resources = within_device(parameters.responder_resources);
  endpoint.initiator_depth = within_device(parameters.initiator_depth);
  endpoint.rnr_retry_count = std::min(parameters.rnr_retry_count, kMostRetries);
  endpoint.flow_control = parameters.flow_control;
  endpoint.srq = parameters.srq;
  endpoint.ece = ece;
  return endpoint;
}

}  // namespace softrnic::cma
