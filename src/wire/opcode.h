// Opcodes of the base transport header and everything that varies by them, in one table (IBTA 9.2, table 38).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace softrnic::wire {

/// The transport service in the top three bits of an opcode (IBTA 9.2.1).
enum class Service : std::uint8_t { rc = 0x00, uc = 0x20, rd = 0x40, ud = 0x60, cnp = 0x80, xrc = 0xa0 };

/// Whether a receiver acknowledges, and a sender sends again what was lost.
constexpr bool is_reliable(Service service) { return service == Service::rc || service == Service::xrc; }

/// What a packet asks for or answers, irrespective of the service.
enum class Operation : std::uint8_t {
  send,
  write,
  read_request,
  read_response,
  acknowledge,
  atomic_acknowledge,
  compare_swap,
  fetch_add,
  cnp,
  flush,
  atomic_write,
};

/// The place of a packet within its message.
enum class Position : std::uint8_t { first, middle, last, only };

/// How many payload bytes a packet may carry (IBTA 9.4.1, 9.7.4.1.6).
enum class PayloadRule : std::uint8_t {
  none,         ///< no payload
  exactly_mtu,  ///< first and middle packets: exactly the path MTU
  one_to_mtu,   ///< last packets: 1 to path MTU
  zero_to_mtu,  ///< only packets: 0 to path MTU
  fixed_8,      ///< 8 bytes (ATOMIC_WRITE)
  fixed_16,     ///< 16 bytes (CNP)
};

/// Extension headers that follow the BTH, as bits; on the wire they stand in this order.
enum HeaderBit : std::uint16_t {
  kDeth = 1U << 0,
  kXrceth = 1U << 1,
  kFeth = 1U << 2,
  kReth = 1U << 3,
  kAtomicEth = 1U << 4,
  kAeth = 1U << 5,
  kAtomicAckEth = 1U << 6,
  kImmDt = 1U << 7,
  kIeth = 1U << 8,
};

enum class Opcode : std::uint8_t {
  rc_send_first = 0x00,
  rc_send_middle,
  rc_send_last,
  rc_send_last_imm,
  rc_send_only,
  rc_send_only_imm,
  rc_write_first,
  rc_write_middle,
  rc_write_last,
  rc_write_last_imm,
  rc_write_only,
  rc_write_only_imm,
  rc_read_request,
  rc_read_response_first,
  rc_read_response_middle,
  rc_read_response_last,
  rc_read_response_only,
  rc_acknowledge,
  rc_atomic_acknowledge,
  rc_compare_swap,
  rc_fetch_add,
  rc_send_last_inv = 0x16,
  rc_send_only_inv = 0x17,
  rc_flush = 0x1c,
  rc_atomic_write = 0x1d,
  uc_send_first = 0x20,
  uc_send_middle,
  uc_send_last,
  uc_send_last_imm,
  uc_send_only,
  uc_send_only_imm,
  uc_write_first,
  uc_write_middle,
  uc_write_last,
  uc_write_last_imm,
  uc_write_only,
  uc_write_only_imm,
  ud_send_only = 0x64,
  ud_send_only_imm = 0x65,
  cnp = 0x81,
  xrc_send_first = 0xa0,
  xrc_send_middle,
  xrc_send_last,
  xrc_send_last_imm,
  xrc_send_only,
  xrc_send_only_imm,
  xrc_write_first,
  xrc_write_middle,
  xrc_write_last,
  xrc_write_last_imm,
  xrc_write_only,
  xrc_write_only_imm,
  xrc_read_request,
  xrc_read_response_first,
  xrc_read_response_middle,
  xrc_read_response_last,
  xrc_read_response_only,
  xrc_acknowledge,
  xrc_atomic_acknowledge,
  xrc_compare_swap,
  xrc_fetch_add,
  xrc_send_last_inv = 0xb6,
  xrc_send_only_inv = 0xb7,
};

struct OpcodeInfo {
  Opcode opcode;
  std::string_view name;  ///< as wireshark prints it: "RC Send First"
  Service service;
  Operation operation;
  Position position;
  std::uint16_t headers;  ///< HeaderBit mask
  PayloadRule payload;
  bool request;  ///< goes to the responder (true) or to the requester (false)

  constexpr bool starts() const { return position == Position::first || position == Position::only; }
  constexpr bool ends() const { return position == Position::last || position == Position::only; }
  constexpr bool has(HeaderBit bit) const { return (headers & bit) != 0; }
};

/// The table entry of a raw opcode byte, or nullptr when the opcode is not defined.
const OpcodeInfo* find_opcode(std::uint8_t raw);

/// The table entry of a defined opcode; for any other value an entry without headers and payload.
const OpcodeInfo& opcode_info(Opcode opcode);

/// Whether a message of this operation may have several packets, so that one packet may stand for a row of
/// them: SEND, WRITE and READ responses of RC and UC.
bool joinable(const OpcodeInfo& info);

/// The opcodes of the packets of a row that one packet of a message stands for.
struct OpcodeParts {
  Opcode first, middle, last;
};
/// `whole` is joinable().
const OpcodeParts& parts_of(Opcode whole);
/// The other way round: what stands for a row of packets of one message that begins with
/// `first` and ends with `last`.
const OpcodeInfo& joined(const OpcodeInfo& first, const OpcodeInfo& last);

/// The whole table, in ascending order of opcodes.
std::span<const OpcodeInfo> all_opcodes();

/// Bytes of extension headers for a HeaderBit mask.
std::size_t header_bytes(std::uint16_t headers);

}  // namespace softrnic::wire
