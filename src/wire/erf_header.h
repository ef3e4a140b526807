// The header that precedes each packet in a capture of link type extensible_record: Endace's Extensible
// Record Format. InfiniBand has a link type of its own, 247, but wireshark (4.0) does not know it; it reads
// InfiniBand from these records, as ibdump writes them, and only these tell link packets from those with an
// LRH.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace softrnic::wire {

inline constexpr std::size_t kErfHeaderBytes = 16;

enum class ErfType : std::uint8_t {
  infiniband = 21,       ///< LRH to VCRC
  infiniband_link = 25,  ///< a link packet, LPCRC at its end, and kErfLinkPacketPad
};

/// Wireshark takes a link packet of 6 bytes for 8 long.
inline constexpr std::array<std::byte, 2> kErfLinkPacketPad{};

/// Writes the header of a record of `bytes` bytes (at most 65519) of packet and pad, seen `time_ns`
/// nanoseconds after 1970-01-01 UTC.
void encode_erf_header(ErfType type, std::uint64_t time_ns, std::size_t bytes,
                       std::span<std::byte, kErfHeaderBytes> out);

}  // namespace softrnic::wire
