// What this side wants of every connection: what Linux's siw does, which does not wait for the initiator to
// speak first, and asks for neither CRCs nor markers unless the device is made to. FPDUs that are longer than
// a TCP segment and RFC 7306 between those that know them.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/time.h"
#include "transport/iwarp/mpa_options.h"

namespace softrnic::iwcm {

/// `timeout`: for the whole frame of the peer.
inline iwarp::MpaOptions wishes(wire::MpaDemands demands, Duration timeout) {
  iwarp::MpaOptions wanted;
  wanted.crc = demands.crc;
  wanted.receive_markers = demands.markers;
  wanted.long_fpdus = true;
  wanted.extensions = true;
  wanted.responder_waits = false;
  wanted.timeout = timeout;
  return wanted;
}

/// READs and atomics, as a frame can name them.
constexpr std::uint16_t within_format(std::uint16_t reads) {
  return std::min<std::uint16_t>(reads, wire::kMpaNoLimit - 1);
}

}  // namespace softrnic::iwcm
