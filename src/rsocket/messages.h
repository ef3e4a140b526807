// What two rsockets say to each other besides the bytes of the stream: the private data of connect request
// and reply, the immediate data of RDMA WRITEs, and the tables that each writes into the other's memory.
// As rdma-core's librdmacm has it, version 1; seen in packets of the kernel's driver (tests/golden).
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "base/bytes.h"

namespace softrnic::rsocket {

/// Bits 31 to 29 of the immediate data. 1, 3 and 5 are reserved, 2 never travels.
enum class Op : std::uint8_t { data = 0, segment = 4, iomap = 6, control = 7 };

/// The value of a control message.
enum class Control : std::uint8_t { disconnect = 0, keepalive = 1, shutdown = 2 };

/// One piece of immediate data. `value`: data: bytes; segment: the credit limit (16 bits); iomap: the index.
struct Message {
  Op op = Op::data;
  std::uint32_t value = 0;  ///< 29 bits
};

inline constexpr std::uint32_t kValueBits = 29;

constexpr std::uint32_t encode(Message message) {
  return std::uint32_t{static_cast<std::uint8_t>(message.op)} << kValueBits |
         (message.value & ((1U << kValueBits) - 1));
}
constexpr Message decode_message(std::uint32_t immediate) {
  return {static_cast<Op>(immediate >> kValueBits), immediate & ((1U << kValueBits) - 1)};
}

/// Memory that the other side may write. Its rows stand in memory in the byte order of their owner.
struct Segment {
  std::uint64_t address = 0;
  std::uint32_t key = 0;
  std::uint32_t length = 0;
};
static_assert(sizeof(Segment) == 16);

/// A row of the table of riomap.
struct Mapping {
  std::uint64_t offset = 0;
  Segment segment;
};
static_assert(sizeof(Mapping) == 24);

/// For a peer of the other byte order.
constexpr Segment swapped(Segment segment) {
  return {__builtin_bswap64(segment.address), __builtin_bswap32(segment.key),
          __builtin_bswap32(segment.length)};
}
constexpr Mapping swapped(Mapping mapping) {
  return {__builtin_bswap64(mapping.offset), swapped(mapping.segment)};
}

/// The private data of a connect request and of its reply.
struct Offer {
  bool big_endian = false;  ///< the byte order of the tables
  bool has_mappings = true;
  std::uint16_t credits = 0;   ///< messages that may be sent before the first update
  std::uint16_t mappings = 0;  ///< rows for riomap, behind those for segments
  Segment table;               ///< where segments are announced; `length` counts rows
  Segment buffer;              ///< the first segment
};

inline constexpr std::size_t kOfferSize = 40;

std::array<std::byte, kOfferSize> encode(const Offer& offer);

/// Nothing when it is too short, of another version, or has no row for segments. What is longer is padding.
std::optional<Offer> decode_offer(Bytes private_data);

/// The number of mappings travels in one byte: up to 128 as it is, above in steps of 256.
constexpr std::uint8_t to_scale(std::uint32_t value) {
  return static_cast<std::uint8_t>(value <= 0x80 ? value : 0x80 | (value >> 8));
}
constexpr std::uint16_t from_scale(std::uint8_t scaled) {
  return static_cast<std::uint16_t>(scaled <= 0x80 ? scaled : (scaled & 0x7f) << 8);
}

}  // namespace softrnic::rsocket
