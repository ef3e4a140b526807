// The RMPP header: 12 bytes after the common header, in classes whose messages may be longer than a datagram
// (IBTA 13.6.2).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "mad/field.h"
#include "mad/mad.h"

namespace softrnic::mad {

inline constexpr std::size_t kRmppOffset = kHeaderBytes;
/// All headers up to and with RMPP's, and what is left: the class's own header and data.
inline constexpr std::size_t kRmppHeadersBytes = 36;
inline constexpr std::size_t kRmppPayloadBytes = kMadBytes - kRmppHeadersBytes;

enum class RmppType : std::uint8_t { none = 0, data = 1, ack = 2, stop = 3, abort = 4 };

/// 1 is what STOP says, 118 to 127 are what ABORT says (IBTA 13.6.2.1, table of RMPPStatus).
enum class RmppStatus : std::uint8_t {
  normal = 0,
  resources_exhausted = 1,
  total_time_too_long = 118,
  inconsistent_last_and_payload_length = 119,
  inconsistent_first_and_segment_number = 120,
  bad_type = 121,
  new_window_last_too_small = 122,
  segment_number_too_big = 123,
  illegal_status = 124,
  unsupported_version = 125,
  too_many_retries = 126,
  unspecified = 127,
};
/// "" of a code without a name.
std::string_view name_of(RmppStatus status);

struct RmppHeader {
  static constexpr std::uint8_t kVersion = 1;
  static constexpr std::uint8_t kNoResponseTime = 0x1f;

  std::uint8_t version = kVersion;
  RmppType type{};
  std::uint8_t response_time = 0;  ///< RRespTime, 5-bit code: 4.096 µs · 2^code, or kNoResponseTime
  bool last = false;
  bool first = false;
  bool active = false;  ///< else the header means nothing
  RmppStatus status{};
  std::uint32_t segment_number = 0;  ///< of data, from 1 on; of ACK, the last that came in order
  /// Data2: of data PayloadLength, all bytes after the RMPP header: of the whole transfer in the first
  /// segment (0: not known), of the last one in the last. Of ACK NewWindowLast, the last segment that may be
  /// sent.
  std::uint32_t payload_length = 0;

  std::uint32_t new_window_last() const { return payload_length; }
};
template <>
inline constexpr std::array fields_of<RmppHeader> = {
    field<&RmppHeader::version>("version", 0, 0, 8),
    field<&RmppHeader::type>("type", 1, 0, 8),
    field<&RmppHeader::response_time>("response_time", 2, 0, 5),
    field<&RmppHeader::last>("last", 2, 5, 1),
    field<&RmppHeader::first>("first", 2, 6, 1),
    field<&RmppHeader::active>("active", 2, 7, 1),
    field<&RmppHeader::status>("status", 3, 0, 8),
    field<&RmppHeader::segment_number>("segment_number", 4, 0, 32),
    field<&RmppHeader::payload_length>("payload_length", 8, 0, 32),
};
static_assert(covers<RmppHeader>(kRmppHeadersBytes - kRmppOffset));

/// Why a STOP or an ABORT ends the transfer: its status, or that this means nothing.
RmppStatus reason_of(const RmppHeader& header);

/// The header of a whole datagram, at its place in it.
RmppHeader decode_rmpp(Bytes mad);
void encode_rmpp(const RmppHeader& header, MutableBytes mad);

}  // namespace softrnic::mad
