// Starting an outgoing packet, and the opcodes of outgoing messages as a table.
#pragma once

#include "transport/ib/psn.h"
#include "transport/ib/types.h"

namespace softrnic::ib {

/// Opcodes of the packets of a message, by SendOp.
struct MessageOpcodes {
  wire::Opcode first, middle, last, only;
  bool supported;
  bool has_immediate;  ///< or a key to invalidate, in its last packet

  constexpr wire::Opcode at(bool is_first, bool is_last) const {
    if (is_first) return is_last ? only : first;
    return is_last ? last : middle;
  }
};

/// Those of RC; the UC ones are 0x20 higher, the XRC ones 0xa0 (IBTA 9.2, table 38).
const MessageOpcodes& rc_opcodes(SendOp op);

constexpr wire::Opcode to_uc(wire::Opcode rc) {
  return static_cast<wire::Opcode>(static_cast<std::uint8_t>(rc) + 0x20);
}
constexpr wire::Opcode to_xrc(wire::Opcode rc) {
  return static_cast<wire::Opcode>(static_cast<std::uint8_t>(rc) + 0xa0);
}
/// XRC has no opcode for memory placement extensions.
constexpr bool xrc_allows(SendOp op) { return !is_answered_empty(op); }
/// UC carries SEND and WRITE only.
constexpr bool uc_allows(SendOp op) {
  return op == SendOp::send || op == SendOp::send_with_imm || op == SendOp::write ||
         op == SendOp::write_with_imm;
}

/// Clears `out` and fills in what every packet of a connected QP has.
inline void begin_packet(TxPacket& out, const Attributes& attributes, wire::Opcode opcode, Psn psn) {
  out.path = &attributes.path;
  out.headers = {};
  out.headers.bth.opcode = opcode;
  out.headers.bth.migration_request = attributes.migration == Migration::migrated;
  out.headers.bth.pkey = attributes.pkey;
  out.headers.bth.destination = attributes.remote;
  out.headers.bth.psn = psn.wire();
  out.packets = 1;
  out.path_mtu = attributes.path_mtu;
  out.again = false;
  out.is_frame = false;
  out.payload_bytes = 0;
  out.fragment_count = 0;
}

/// The same for a request, which names the SRQ that it is for if it is of XRC.
inline void begin_request(TxPacket& out, const Attributes& attributes, wire::Opcode opcode, Psn psn,
                          const SendWqe& wqe) {
  begin_packet(out, attributes, opcode, psn);
  out.headers.xrc_srqn = wqe.remote_srqn;
}

/// What a packet costs a window besides its payload: Ethernet, IP, UDP, BTH and ICRC, rounded up.
inline constexpr std::uint32_t kPacketOverhead = 64;

}  // namespace softrnic::ib
