#include "transport/ib/rx_packet.h"

namespace softrnic::ib {
namespace {

// `several`: it is the last of a row, so it has a byte at least even where the row as a whole is an ONLY
// packet.
bool fits(wire::PayloadRule rule, std::uint64_t size, std::uint32_t mtu, bool several) {
  switch (rule) {
    case wire::PayloadRule::none:
      return size == 0;
    case wire::PayloadRule::exactly_mtu:
      return size == mtu;
    case wire::PayloadRule::one_to_mtu:
      return size >= 1 && size <= mtu;
    case wire::PayloadRule::zero_to_mtu:
      return size <= mtu && (size >= 1 || !several);
    case wire::PayloadRule::fixed_8:
      return size == 8;
    case wire::PayloadRule::fixed_16:
      return size == 16;
  }
  return false;
}

}  // namespace

// Those before the last are FIRST and MIDDLE packets: exactly the path MTU, which leaves no room for pad. A
// sum that is right says nothing of them.
bool RxPacket::lengths_fit(std::uint32_t path_mtu) const {
  if (first_bytes != 0 && first_bytes != path_mtu) return false;
  const std::uint64_t before = std::uint64_t{packets - 1} * path_mtu;
  return payload_bytes() >= before &&
         fits(packet.info->payload, payload_bytes() - before, path_mtu, packets > 1);
}

// A network may copy a packet, and a requester goes back: then some of those that were put together are known
// already.
std::optional<RxPacket> RxPacket::behind(std::uint64_t count, std::uint32_t path_mtu) const {
  if (count >= packets) return std::nullopt;
  const std::uint64_t skipped = count * (first_bytes != 0 ? first_bytes : path_mtu);
  if (skipped >= payload_bytes()) return std::nullopt;
  RxPacket rest = *this;
  const wire::OpcodeParts& opcodes = wire::parts_of(packet.info->opcode);
  rest.packet.info = &wire::opcode_info(opcodes.last);  // or middle, if it does not end
  wire::Bth& bth = rest.packet.headers.bth;
  bth.opcode = rest.packet.info->opcode;
  bth.psn = static_cast<std::uint32_t>(bth.psn + count) & wire::kPsnMask;
  rest.packets = static_cast<std::uint32_t>(packets - count);
  rest.first_opcode = opcodes.middle;
  if (rest.packets == 1) rest.first_bytes = 0;
  if (rendezvous == nullptr) {
    rest.packet.payload = packet.payload.subspan(skipped);
  } else {
    rest.rendezvous_offset += skipped;
    rest.rendezvous_bytes -= skipped;
  }
  return rest;
}

}  // namespace softrnic::ib
