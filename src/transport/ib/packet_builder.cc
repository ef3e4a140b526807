#include "transport/ib/packet_builder.h"

#include <array>

namespace softrnic::ib {
namespace {

using enum wire::Opcode;

constexpr MessageOpcodes single(wire::Opcode opcode, bool supported = true) {
  return {opcode, opcode, opcode, opcode, supported, false};
}

constexpr MessageOpcodes kNoOpcodes = single(rc_send_only, false);

// In the order of SendOp.
constexpr std::array<MessageOpcodes, kSendOps> kOpcodes = {{
    {rc_write_first, rc_write_middle, rc_write_last, rc_write_only, true, false},
    {rc_write_first, rc_write_middle, rc_write_last_imm, rc_write_only_imm, true, true},
    {rc_send_first, rc_send_middle, rc_send_last, rc_send_only, true, false},
    {rc_send_first, rc_send_middle, rc_send_last_imm, rc_send_only_imm, true, true},
    single(rc_read_request),
    single(rc_compare_swap),
    single(rc_fetch_add),
    kNoOpcodes,  // local_invalidate
    kNoOpcodes,  // bind_window
    {rc_send_first, rc_send_middle, rc_send_last_inv, rc_send_only_inv, true, true},
    kNoOpcodes,  // tso
    kNoOpcodes,
    kNoOpcodes,
    kNoOpcodes,
    single(rc_flush),
    single(rc_atomic_write),
}};

}  // namespace

const MessageOpcodes& rc_opcodes(SendOp op) {
  const auto index = static_cast<std::size_t>(op);
  return index < kOpcodes.size() ? kOpcodes[index] : kNoOpcodes;
}

}  // namespace softrnic::ib
