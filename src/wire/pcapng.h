// Blocks of the pcapng capture format (draft-ietf-opsawg-pcapng), formatted into memory; writing them is the
// caller's.
//
// A file is one section header, then one block per interface (numbered from 0 in their order), then packets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/bytes.h"

namespace softrnic::wire {

using CaptureBuffer = std::vector<std::byte>;

/// What the packets of an interface begin with, by the numbers of the registry that all capture formats
/// share.
enum class LinkType : std::uint16_t {
  ethernet = 1,             ///< the Ethernet header; the FCS is left out
  extensible_record = 197,  ///< a header that tells what follows: erf_header.h, for InfiniBand
};

enum class CaptureDirection : std::uint8_t { unknown = 0, inbound = 1, outbound = 2 };

/// What a capture says about a packet besides its bytes.
struct CaptureRecord {
  std::uint32_t interface = 0;
  std::uint64_t time_ns = 0;  ///< since 1970-01-01 UTC
  CaptureDirection direction = CaptureDirection::unknown;
  std::string_view
      comment;  ///< shown by wireshark beside the packet; empty: none; at most 65535 bytes are kept
};

/// Appends the block that opens a file. `application` names who captures.
void append_section(CaptureBuffer& out, std::string_view application);

/// Appends an interface with timestamps in nanoseconds and no limit to the length of packets.
void append_interface(CaptureBuffer& out, std::string_view name, LinkType type = LinkType::ethernet);

/// Appends a packet whose bytes are the concatenation of `pieces` (below 2^31 bytes).
void append_packet(CaptureBuffer& out, const CaptureRecord& record, std::span<const Bytes> pieces);

}  // namespace softrnic::wire
