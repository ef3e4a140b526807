// What a side wants of a connection, and what both have agreed upon when MPA has set it up (RFC 5044 7,
// RFC 6581).
#pragma once

#include <chrono>
#include <cstdint>

#include "base/time.h"
#include "wire/mpa.h"

namespace softrnic::iwarp {

/// Whether a responder sends an FPDU before one of the initiator's has come (RFC 5044 7.1.2: it must not).
/// Then the initiator has certainly read the reply: what a peer finds behind a reply that it is still reading
/// it may take for an error, as Linux's siw does (-EPROTO).
enum class WaitForPeer : std::uint8_t {
  none,     ///< it does at once
  bounded,  ///< when it has waited for kFirstWordPatience: programs whose server speaks first get on
  always,   ///< never: the initiator has promised a message that tells that it is ready (RFC 6581 9)
};

struct MpaOptions {
  std::uint8_t revision = wire::kMpaHighestRevision;  ///< 1 or 2: the highest that is spoken
  bool crc = false;              ///< CRCs are wanted; they are used if the peer wants them, too
  bool receive_markers = false;  ///< markers are wanted in what comes; they are sent if the peer wants them
  bool long_fpdus = false;       ///< FPDUs longer than a TCP segment are welcome, see wire::MpaFrame
  bool extensions = false;       ///< RFC 7306 is spoken, see there
  /// READs and atomics of the peer that this side takes at once, and those of its own that it would like to
  /// have under way; at most wire::kMpaNoLimit - 1.
  std::uint16_t ird = 1;
  std::uint16_t ord = 1;
  /// Either side may send first (RFC 6581 9); the initiator then tells by a message that it is ready.
  /// Revision 2.
  bool peer_to_peer = false;
  std::uint8_t rtr = wire::kRtrWrite | wire::kRtrRead;  ///< the messages that will do, as wire::Rtr bits
  WaitForPeer responder_waits = WaitForPeer::always;
  Duration timeout = std::chrono::seconds(10);  ///< for the whole frame of the peer
};

/// The one of these messages (wire::Rtr bits) by which the initiator says that it is ready; 0: there is
/// none. A WRITE asks least of the responder: a READ is answered, a SEND would take a receive elsewhere.
constexpr std::uint8_t preferred_rtr(unsigned messages) {
  for (const wire::Rtr each : {wire::kRtrWrite, wire::kRtrRead, wire::kRtrSend})
    if ((messages & each) != 0) return each;
  return 0;
}

struct MpaAgreement {
  std::uint8_t revision = 1;
  bool crc = false;
  bool markers_in = false;
  bool markers_out = false;
  bool long_fpdus = false;
  bool extensions = false;  ///< both speak RFC 7306: atomics, and WRITEs with immediate data
  std::uint16_t ird = 0;
  std::uint16_t ord = 0;
  /// The message that tells that the initiator is ready, as one wire::Rtr bit; 0: none. The initiator's
  /// endpoint sends it, the responder's takes it.
  std::uint8_t rtr = 0;
  bool sends_rtr = false;
  WaitForPeer waits_for_peer = WaitForPeer::none;  ///< before this side, a responder, sends
};

}  // namespace softrnic::iwarp
