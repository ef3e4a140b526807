// The IP header of a packet that a capture or a test is to hold.
#pragma once

#include <cstddef>
#include <cstdint>

#include "wire/icrc.h"

namespace softrnic::wire {

/// What an IP header says besides its flow. The IPv4 fields are ignored for IPv6.
struct IpPacket {
  std::uint8_t protocol = 0;
  std::size_t payload = 0;  ///< bytes behind the header
  std::uint16_t id = 0;     ///< IPv4
  std::uint16_t flags = 0;  ///< IPv4: flags and fragment offset
};

/// RFC 1071: the complement of the ones' complement sum; 0 over a header whose checksum field is right.
std::uint16_t header_checksum(Bytes header);

/// Writes the header, of the family of flow.destination. Returns its length.
std::size_t encode_ip(const Flow& flow, const IpPacket& packet, std::byte* out);

}  // namespace softrnic::wire
