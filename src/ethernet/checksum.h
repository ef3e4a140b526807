// The Internet checksums of a frame (RFC 1071): of its IPv4 header, and of TCP or UDP over either IP.
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "ethernet/flow_key.h"

namespace softrnic::ethernet {

/// The checksum of these bytes, and of what has been summed up already (`so_far`, not complemented).
std::uint16_t internet_checksum(Bytes bytes, std::uint32_t so_far = 0);

/// Whether all of them are right. False for what has none: no TCP or UDP over IP, and fragments. A UDP
/// datagram that says that it has no checksum is right (RFC 768).
bool checksums_ok(Bytes frame, const ParsedFrame& parsed);

/// Writes those that it has, of the frame as it stands.
void fill_checksums(MutableBytes frame, const ParsedFrame& parsed);

}  // namespace softrnic::ethernet
