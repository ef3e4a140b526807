// A whole packet as it lies on an InfiniBand link: LRH, GRH where there is one, BTH and what follows it,
// ICRC, VCRC (IBTA 5.2). Management datagrams are the UD SENDs of 256 bytes that they are there.
//
// A switch needs the LRH alone (link_header.h); raw packets, which have no BTH, are known by it and not
// parsed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/expected.h"
#include "wire/grh.h"
#include "wire/headers.h"
#include "wire/link_header.h"
#include "wire/vcrc.h"

namespace softrnic::wire {

inline constexpr std::size_t kMaxInfinibandHeaderBytes = kLrhBytes + kGrhBytes + kMaxHeaderBytes;
inline constexpr std::size_t kMaxInfinibandTrailerBytes = 3 + kIcrcBytes + kVcrcBytes;  ///< the pad first

struct RouteHeaders {
  LinkHeader local;
  std::optional<Grh> global;
};

/// A parsed frame. The payload points into the buffer that was parsed.
struct InfinibandFrame {
  RouteHeaders route;
  Packet packet;
  std::size_t icrc_at = 0;  ///< where the ICRC lies
  std::size_t vcrc_at = 0;  ///< right behind it, the last two bytes
};

enum class InfinibandFrameError : std::uint8_t {
  too_short,              ///< a header, or a CRC, goes beyond the frame
  bad_link_version,       ///< LVer is not 0 (IBTA 7.7.2)
  not_iba,                ///< LNH says raw or IP
  bad_packet_length,      ///< PktLen is not what is there
  bad_grh_version,        ///< IPVer is not 6
  bad_grh_next_header,    ///< NxtHdr is not 0x1b
  bad_grh_length,         ///< PayLen is not what is there
  unknown_opcode,         ///< not in the opcode table
  bad_transport_version,  ///< TVer is not 0
  bad_pad,                ///< the pad count exceeds what is there
};
std::string_view name_of(InfinibandFrameError error);

/// Reads a frame, LRH to VCRC; `bytes` is no more and no less. Checks what holds for a packet by itself: the
/// CRCs, the MTU and the fields that tell whether it is for here are the caller's.
Expected<InfinibandFrame, InfinibandFrameError> parse_infiniband_frame(Bytes bytes);

/// The same into a frame that is used again and again, see parse_into(). After an error `out` is not to be
/// used.
Expected<void, InfinibandFrameError> parse_infiniband_frame_into(Bytes bytes, InfinibandFrame& out);

/// Whether the CRC is right of a frame, LRH to VCRC, of any length and content. There is no ICRC in one that
/// is too short for it, or in a raw one: false.
bool has_right_icrc(Bytes frame);
bool has_right_vcrc(Bytes frame);

/// Bytes of a frame, LRH to VCRC.
std::size_t infiniband_frame_bytes(const RouteHeaders& route, Opcode opcode, std::size_t payload);

/// Writes the headers of a frame whose payload is `payload` bytes long. LNH, PktLen, PayLen and PadCnt are
/// computed, all else is as given. Returns bytes written; 0: `out` is too short, or PktLen for the payload.
std::size_t encode_infiniband_headers(const RouteHeaders& route, const Headers& headers, std::size_t payload,
                                      MutableBytes out);

/// Writes what follows the payload: pad, ICRC and VCRC, to `out`, at least kMaxInfinibandTrailerBytes long.
/// `headers` is what encode_infiniband_headers() has written; the payload may lie in any number of pieces.
/// Returns bytes written.
std::size_t encode_infiniband_trailer(Bytes headers, std::span<const Bytes> payload, MutableBytes out);

/// Writes a whole frame. Returns bytes written; 0: `out` is too short, or PktLen for the payload.
std::size_t encode_infiniband_frame(const RouteHeaders& route, const Headers& headers,
                                    std::span<const Bytes> payload, MutableBytes out);

/// Puts the right VCRC at the end of a frame of at least kVcrcBytes, some of whose bytes have changed.
void renew_vcrc(MutableBytes frame);

/// One line for people: LRH, GIDs, and what print.h says of the rest.
std::string to_string(const InfinibandFrame& frame);

}  // namespace softrnic::wire
