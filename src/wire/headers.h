// The headers of an InfiniBand transport packet as plain values, in host byte order (IBTA 9.2 – 9.3).
//
// A `Headers` holds every extension header; which of them mean something is told by the opcode table.
// Immediate data and the invalidated key are kept as the 32-bit values in host order; verbs hands imm_data
// over in network order.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "base/expected.h"
#include "base/strong.h"
#include "wire/opcode.h"

namespace softrnic::wire {

inline constexpr std::uint32_t kPsnMask = 0xffffff;
inline constexpr std::size_t kBthBytes = 12;
inline constexpr std::size_t kRethBytes = 16;
inline constexpr std::size_t kIcrcBytes = 4;
inline constexpr std::size_t kGrhBytes = 40;
/// BTH and all extensions
inline constexpr std::size_t kMaxHeaderBytes = 12 + 8 + 4 + 4 + 16 + 28 + 4 + 8 + 4 + 4;
inline constexpr std::uint16_t kRoceUdpPort = 4791;
inline constexpr std::uint16_t kDefaultPkey = 0xffff;

/// Base transport header, 12 bytes.
///   opcode(8) SE(1) MigReq(1) Pad(2) TVer(4) P_Key(16) | F(1) B(1) resv(6) DestQP(24) | A(1) resv(7) PSN(24)
struct Bth {
  Opcode opcode{};
  bool solicited = false;
  bool migration_request = true;
  std::uint8_t pad = 0;      ///< 0–3 bytes
  std::uint8_t version = 0;  ///< TVer, always 0
  std::uint16_t pkey = kDefaultPkey;
  bool fecn = false;
  bool becn = false;
  std::uint8_t reserved6 = 0;  ///< kept so that every packet re-encodes to the same bytes
  Qpn destination;
  bool ack_request = false;
  std::uint8_t reserved7 = 0;
  std::uint32_t psn = 0;  ///< 24 bits
};

/// RDMA extended transport header, 16 bytes.
struct Reth {
  std::uint64_t address = 0;
  MemoryKey key;
  std::uint32_t length = 0;  ///< bytes of the whole message, 0 to 2^31
};

/// Datagram extended transport header, 8 bytes.
struct Deth {
  std::uint32_t qkey = 0;
  Qpn source;
  std::uint8_t reserved = 0;
};

/// Atomic extended transport header, 28 bytes.
struct AtomicEth {
  std::uint64_t address = 0;
  MemoryKey key;
  std::uint64_t swap_or_add = 0;
  std::uint64_t compare = 0;
};

/// ACK extended transport header, 4 bytes: syndrome and message sequence number.
struct Aeth {
  std::uint8_t syndrome = 0;
  std::uint32_t msn = 0;  ///< 24 bits
};

/// AETH syndromes (IBTA 9.7.5.1.1, tables 45 and 46).
inline constexpr std::uint8_t kAckUnlimitedCredits = 0x1f;
inline constexpr std::uint8_t kRnrNak = 0x20;  ///< | timer code, 5 bits
inline constexpr std::uint8_t kNakPsnSequence = 0x60;
inline constexpr std::uint8_t kNakInvalidRequest = 0x61;
inline constexpr std::uint8_t kNakRemoteAccess = 0x62;
inline constexpr std::uint8_t kNakRemoteOperational = 0x63;

enum class SyndromeKind : std::uint8_t { ack, rnr_nak, nak, reserved };
constexpr SyndromeKind syndrome_kind(std::uint8_t syndrome) {
  constexpr SyndromeKind kinds[] = {SyndromeKind::ack, SyndromeKind::rnr_nak, SyndromeKind::reserved,
                                    SyndromeKind::nak};
  return (syndrome & 0x80) != 0 ? SyndromeKind::reserved : kinds[(syndrome >> 5) & 3];
}

/// Everything between the UDP header and the payload.
struct Headers {
  Bth bth;
  Deth deth;
  Reth reth;
  AtomicEth atomic;
  Aeth aeth;
  std::uint64_t atomic_original = 0;  ///< AtomicAckETH
  std::uint32_t immediate = 0;        ///< ImmDt
  MemoryKey invalidate;               ///< IETH
  std::uint32_t flush_selector = 0;   ///< FETH, raw
  std::uint32_t xrc_srqn = 0;         ///< XRCETH, 24 bits
  std::uint8_t xrc_reserved = 0;      ///< XRCETH
};

/// A parsed packet. `payload` has no pad and no ICRC and points into the buffer that was parsed.
struct Packet {
  Headers headers;
  const OpcodeInfo* info = nullptr;
  Bytes payload;
};

enum class ParseError : std::uint8_t {
  too_short,       ///< shorter than the BTH or than the extension headers of the opcode
  unknown_opcode,  ///< not in the opcode table
  bad_version,     ///< TVer is not 0 (IBTA 9.2.6: version 0 is the only one defined)
  bad_pad,         ///< payload and pad are no multiple of 4, or the pad count exceeds what is there
};

/// Reads a packet from `bytes`: BTH up to and including pad, without ICRC. Reads nothing beyond `bytes`.
/// Checks what holds for a packet by itself; path MTU and sequence are the transport's business.
Expected<Packet, ParseError> parse(Bytes bytes);

/// The same into a packet that is used again and again: fields of headers that the packet does not have keep
/// whatever they held. After an error `out` is not to be used.
Expected<void, ParseError> parse_into(Bytes bytes, Packet& out);

/// Writes BTH and the extension headers of the opcode to `out` (at least kMaxHeaderBytes long). Returns bytes
/// written.
std::size_t encode(const Headers& headers, MutableBytes out);

/// Pad bytes that bring `payload` to a multiple of 4.
constexpr std::uint8_t pad_for(std::size_t payload) {
  return static_cast<std::uint8_t>((4 - payload % 4) % 4);
}

}  // namespace softrnic::wire
