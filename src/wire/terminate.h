// The Terminate message, by which a side that gives up a connection says why (RFC 5040 4.8), and the table
// of all errors that it can name (RFC 5040 4.8, RFC 5041 7, RFC 5044 8, RFC 6581 10; registered by RFC
// 6580).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/bytes.h"
#include "wire/ddp.h"

namespace softrnic::wire {

/// Layer (4 bits), type (4 bits) and code (8 bits) as they stand on the wire.
enum class TerminateError : std::uint16_t {
#define SOFTRNIC_TERMINATE(number, name, words, chinese, headers) name = number,
#include "base/iwarp_terminate.def"
#undef SOFTRNIC_TERMINATE
};

/// What a Terminate message carries of the segment that it is about (RFC 5040 4.8, figure 11).
enum class TerminateHeaders : std::uint8_t {
  none,
  ddp,        ///< its length and its DDP header
  ddp_rdmap,  ///< and, if it is a READ request, the RDMAP header
};

struct TerminateErrorInfo {
  TerminateError error;
  std::string_view text;
  TerminateHeaders headers;
};

/// The entry of a raw error; nullptr: it is not defined.
const TerminateErrorInfo* find_terminate_error(std::uint16_t raw);
std::span<const TerminateErrorInfo> all_terminate_errors();

inline constexpr std::size_t kTerminateControlBytes = 4;
inline constexpr std::size_t kMaxTerminateBytes =
    kTerminateControlBytes + 2 + kMaxDdpBytes + kReadRequestBytes;

struct Terminate {
  std::uint16_t error = 0;     ///< a TerminateError, or another
  std::uint16_t reserved = 0;  ///< 13 bits
  /// Of the segment that it is about; nothing if it is not valid.
  std::optional<std::uint16_t> segment_bytes;
  std::optional<DdpHeader> ddp;
  std::optional<ReadRequest> read;
};

/// Reads the payload of a Terminate message, and nothing beyond it. What is announced and not there is
/// left out: a peer that cannot write it is done for anyway. The fields of a siw that has its bits in
/// another order are put in theirs.
Terminate parse_terminate(Bytes payload);

/// Writes to `out` (at least kMaxTerminateBytes long). Returns bytes written.
std::size_t encode(const Terminate& terminate, MutableBytes out);

/// That of an error found in `segment` (its headers, as far as they came; its length is `segment_bytes`).
Terminate terminate_about(TerminateError error, Bytes segment, std::size_t segment_bytes);

}  // namespace softrnic::wire
