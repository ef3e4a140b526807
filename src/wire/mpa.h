// MPA, which cuts the byte stream of TCP into FPDUs (RFC 5044): the frames that set a connection up, and
// what an FPDU consists of besides its ULPDU.
//
//   FPDU: ULPDU length (16) | ULPDU | pad to a multiple of 4 | CRC-32C (32)
//
// In a stream with markers four bytes stand at every 512th byte from where FPDUs begin, within FPDUs or
// between them (RFC 5044 4.3).
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "base/expected.h"

namespace softrnic::wire {

inline constexpr std::size_t kMpaFrameBytes = 20;     ///< request or reply, without private data
inline constexpr std::size_t kMpaEnhancedBytes = 4;   ///< of the private data, in an enhanced frame
inline constexpr std::size_t kMpaPrivateBytes = 512;  ///< of private data at most, those four included
inline constexpr std::uint8_t kMpaHighestRevision = 2;

enum class MpaFrameKind : std::uint8_t { request, reply };

/// What a side asks of its peer with its frame (RFC 5044 7.1.1).
struct MpaDemands {
  bool crc = false;      ///< a CRC of each FPDU, in both directions
  bool markers = false;  ///< markers in what the peer sends

  bool operator==(const MpaDemands&) const = default;
};

struct MpaFrame {
  MpaFrameKind kind{};
  bool markers = false;   ///< M: the sender of this frame wants markers in what it receives
  bool crc = false;       ///< C: it wants CRCs, in both directions
  bool reject = false;    ///< R: of replies
  bool enhanced = false;  ///< S: the private data begin with an MpaEnhanced (RFC 6581)
  /// The highest of the reserved bits. Linux's siw tells by it that FPDUs longer than a TCP segment are
  /// welcome; others neither set nor read it.
  bool long_fpdus = false;
  /// The sender knows RFC 7306. softrnic tells so by the second of the reserved bits in a request and by the
  /// third in a reply, as Linux's siw replies with the flags of the request; no RFC agrees on it.
  bool extensions = false;
  std::uint8_t reserved = 0;  ///< the other bits of the lowest 3
  std::uint8_t revision = 1;
  std::uint16_t private_bytes = 0;
};

enum class MpaFrameError : std::uint8_t {
  wrong_key,            ///< no frame of that kind
  private_data_length,  ///< more than kMpaPrivateBytes, or enhanced and too short for it
};

/// Reads a frame without its private data. `bytes` are kMpaFrameBytes long.
Expected<MpaFrame, MpaFrameError> parse_mpa_frame(MpaFrameKind kind, Bytes bytes);
/// Whether `bytes`, fewer than kMpaFrameBytes, can be the beginning of such a frame.
bool begins_mpa_frame(MpaFrameKind kind, Bytes bytes);
/// Writes kMpaFrameBytes.
void encode(const MpaFrame& frame, MutableBytes out);

/// Bits of the messages that may tell the responder of a peer-to-peer connection that the initiator is
/// ready (RFC 6581 9).
enum Rtr : std::uint8_t { kRtrSend = 1, kRtrWrite = 2, kRtrRead = 4 };

struct MpaEnhanced {
  bool peer_to_peer = false;  ///< A
  std::uint8_t rtr = 0;       ///< B, C, D as Rtr bits
  std::uint16_t ird = 0;      ///< 14 bits
  std::uint16_t ord = 0;      ///< 14 bits
};
/// Neither IRD nor ORD is negotiated (RFC 6581 9.1).
inline constexpr std::uint16_t kMpaNoLimit = 0x3fff;

/// `bytes` are kMpaEnhancedBytes long.
MpaEnhanced parse_mpa_enhanced(Bytes bytes);
void encode(const MpaEnhanced& enhanced, MutableBytes out);

// ---- FPDUs

inline constexpr std::size_t kFpduHeaderBytes = 2;
inline constexpr std::size_t kFpduCrcBytes = 4;
inline constexpr std::size_t kMaxUlpduBytes = 0xffff;
inline constexpr std::size_t kMarkerInterval = 512;
inline constexpr std::size_t kMarkerBytes = 4;

/// Bytes between the ULPDU and the CRC.
constexpr std::size_t fpdu_pad(std::size_t ulpdu) { return (4 - (kFpduHeaderBytes + ulpdu) % 4) % 4; }
/// Length of an FPDU without markers.
constexpr std::size_t fpdu_bytes(std::size_t ulpdu) {
  return kFpduHeaderBytes + ulpdu + fpdu_pad(ulpdu) + kFpduCrcBytes;
}
/// The longest FPDU, without markers.
inline constexpr std::size_t kMaxFpduBytes = fpdu_bytes(kMaxUlpduBytes);

/// The MULPDU: the longest ULPDU whose FPDU fits a TCP segment of `emss` bytes (RFC 5044 5.1).
constexpr std::size_t max_ulpdu(std::size_t emss, bool markers) {
  const std::size_t between = markers ? kMarkerBytes * ((emss + kMarkerInterval - 1) / kMarkerInterval) : 0;
  const std::size_t rest = kFpduHeaderBytes + kFpduCrcBytes + between + emss % 4;
  if (emss <= rest) return 0;
  return emss - rest < kMaxUlpduBytes ? emss - rest : kMaxUlpduBytes;
}

/// Writes a marker; `back` is how many bytes of the stream before it the ULPDU length stands, 0 if it
/// follows.
void encode_marker(std::uint16_t back, MutableBytes out);
/// Reads that of a marker.
std::uint16_t parse_marker(Bytes bytes);

}  // namespace softrnic::wire
