// What goes with the TCP socket of an iWARP connection that the daemon has set up, to the process whose queue
// pair it is for: what both sides have agreed upon by MPA (RFC 5044 7, RFC 6581). Plain data: messages and
// the drop-in libraries carry it as it is.
#pragma once

#include <cstdint>

namespace softrnic::control {

struct StreamGrant {
  std::uint64_t token = 0;    ///< random; names the connection when its end is told
  std::uint16_t ird = 0;      ///< READs and atomics of the peer at once
  std::uint16_t ord = 0;      ///< and of this side
  std::uint8_t revision = 1;  ///< of MPA
  std::uint8_t rtr = 0;       ///< the message that tells that the initiator is ready, as one wire::Rtr bit
  std::uint8_t crc = 0;       ///< from here on 0 or 1, as in iwarp::MpaAgreement
  std::uint8_t markers_in = 0;
  std::uint8_t markers_out = 0;
  std::uint8_t long_fpdus = 0;
  std::uint8_t sends_rtr = 0;
  std::uint8_t waits_for_peer = 0;  ///< iwarp::WaitForPeer::always
  std::uint8_t extensions = 0;      ///< the peer knows RFC 7306
  std::uint8_t initiator = 0;       ///< this side has connected
  std::uint8_t hesitates = 0;       ///< iwarp::WaitForPeer::bounded
  std::uint8_t reserved = 0;
  // iwarp::SameHostPeer, if its number is not 0
  std::uint32_t same_host_qpn = 0;
  std::uint32_t send_psn = 0;
  std::uint32_t receive_psn = 0;
  std::uint32_t own_qpn = 0;
};
static_assert(sizeof(StreamGrant) == 40);

}  // namespace softrnic::control
