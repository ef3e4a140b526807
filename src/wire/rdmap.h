// RDMAP messages and everything that varies by their opcode, in one table (RFC 5040 4.3, RFC 7306 4), and
// the headers that some have behind that of DDP.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/bytes.h"
#include "base/expected.h"
#include "base/strong.h"

namespace softrnic::wire {

inline constexpr std::uint8_t kRdmapVersion = 1;

enum class RdmapOpcode : std::uint8_t {
  write,
  read_request,
  read_response,
  send,
  send_invalidate,
  send_solicited,
  send_solicited_invalidate,
  terminate,
  immediate,            ///< from here on RFC 7306
  immediate_solicited,  ///< "with Solicited Event"
  atomic_request,
  atomic_response,
};

/// What a message is for, whatever its variants.
enum class RdmapOperation : std::uint8_t {
  write,
  read_request,
  read_response,
  send,
  terminate,
  immediate,
  atomic_request,
  atomic_response,
};

/// DDP's queues of untagged buffers (RFC 5040 4.2, RFC 7306 4.2).
enum class DdpQueue : std::uint8_t { send, request, terminate, atomic_response };
inline constexpr std::size_t kDdpQueues = 4;

struct RdmapOpcodeInfo {
  RdmapOpcode opcode;
  std::string_view name;  ///< as wireshark prints it
  RdmapOperation operation;
  bool tagged;
  DdpQueue queue;            ///< of an untagged message
  std::uint8_t body;         ///< bytes of a header of fixed length that is all of its payload; 0: none
  bool solicited = false;    ///< raises a solicited event
  bool invalidates = false;  ///< carries an STag to invalidate
  bool extension = false;    ///< of RFC 7306, which not every peer has
};

/// The entry of a raw opcode (4 bits), or nullptr when it is not defined.
const RdmapOpcodeInfo* find_rdmap_opcode(std::uint8_t raw);
const RdmapOpcodeInfo& rdmap_opcode_info(RdmapOpcode opcode);
/// The whole table, in ascending order of opcodes.
std::span<const RdmapOpcodeInfo> all_rdmap_opcodes();

inline constexpr std::size_t kReadRequestBytes = 28;
inline constexpr std::size_t kAtomicRequestBytes = 52;
inline constexpr std::size_t kAtomicResponseBytes = 12;
inline constexpr std::size_t kImmediateBytes = 8;
inline constexpr std::size_t kMaxRdmapBodyBytes = kAtomicRequestBytes;

/// RFC 5040 4.4.
struct ReadRequest {
  MemoryKey sink;
  std::uint64_t sink_offset = 0;
  std::uint32_t size = 0;
  MemoryKey source;
  std::uint64_t source_offset = 0;
};

enum class AtomicCode : std::uint8_t { fetch_add = 0, compare_swap = 2 };

/// RFC 7306 5.2.1. Masks: FetchAdd's has the highest bit of each part that is added by itself; those of
/// CmpSwap the bits that are swapped and compared.
struct AtomicRequest {
  std::uint32_t reserved = 0;  ///< 28 bits
  std::uint8_t code = 0;       ///< AtomicCode, or another
  std::uint32_t identifier = 0;
  MemoryKey stag;
  std::uint64_t offset = 0;
  std::uint64_t add_or_swap = 0;
  std::uint64_t add_or_swap_mask = 0;
  std::uint64_t compare = 0;
  std::uint64_t compare_mask = 0;
};

/// RFC 7306 5.2.2.
struct AtomicResponse {
  std::uint32_t identifier = 0;
  std::uint64_t original = 0;
};

/// RFC 7306 6.2. Verbs know the first four bytes; the others are sent as zeros.
struct ImmediateData {
  std::uint32_t value = 0;
  std::uint32_t rest = 0;
};

// Each reads or writes as many bytes as its header has.
ReadRequest parse_read_request(Bytes bytes);
AtomicRequest parse_atomic_request(Bytes bytes);
AtomicResponse parse_atomic_response(Bytes bytes);
ImmediateData parse_immediate(Bytes bytes);
void encode(const ReadRequest& request, MutableBytes out);
void encode(const AtomicRequest& request, MutableBytes out);
void encode(const AtomicResponse& response, MutableBytes out);
void encode(const ImmediateData& immediate, MutableBytes out);

}  // namespace softrnic::wire
