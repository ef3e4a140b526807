// What this side wants of every connection: neither CRCs nor markers unless the device is made to, as Linux's
// siw; to speak after the initiator, unless that has nothing to say; FPDUs that are longer than a TCP segment
// and RFC 7306 between those that know them.
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
  wanted.responder_waits = iwarp::WaitForPeer::bounded;
  wanted.timeout = timeout;
  return wanted;
}

/// READs and atomics, as a frame can name them.
constexpr std::uint16_t within_format(std::uint16_t reads) {
  return std::min<std::uint16_t>(reads, wire::kMpaNoLimit - 1);
}

}  // namespace softrnic::iwcm
