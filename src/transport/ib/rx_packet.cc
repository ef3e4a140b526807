#include "transport/ib/types.h"

namespace softrnic::ib {

// A network may copy a packet, and a requester goes back: then some of those that were put together are known already.
std::optional<RxPacket> RxPacket::behind(std::uint64_t count, std::uint32_t path_mtu) const {
  const std::uint64_t skipped = count * (first_bytes != 0 ? first_bytes : path_mtu);
  if (count >= packets || skipped >= payload_bytes()) return std::nullopt;
  RxPacket rest = *this;
  const wire::OpcodeParts& opcodes = wire::parts_of(packet.info->opcode);
  rest.packet.info = &wire::opcode_info(opcodes.last);  // or middle, if it does not end
  wire::Bth& bth = rest.packet.headers.bth;
  bth.opcode = rest.packet.info->opcode;
  bth.psn = static_cast<std::uint32_t>(bth.psn + count) & wire::kPsnMask;
  rest.packets = static_cast<std::uint32_t>(packets - count);
  if (first_bytes != 0) rest.first_opcode = opcodes.middle;
  if (elsewhere == nullptr) {
    rest.packet.payload = packet.payload.subspan(skipped);
  } else {
    rest.elsewhere_offset += skipped;
    rest.elsewhere_bytes -= skipped;
  }
  return rest;
}

}  // namespace softrnic::ib
