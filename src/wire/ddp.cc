#include "wire/ddp.h"

#include "wire/iwarp_fields.h"

namespace softrnic::wire {

Expected<DdpHeader, DdpParseError> parse_ddp(Bytes segment) {
  if (segment.empty() || segment.size() < ddp_bytes(segment[0])) return Unexpected{DdpParseError::too_short};
  const std::byte* const p = segment.data();
  const std::uint8_t control = field::Ddp::Control::load(p);
  const std::uint8_t rdmap = field::Ddp::RdmapControl::load(p);
  DdpHeader header;
  header.tagged = (control & 0x80) != 0;
  header.last = (control & 0x40) != 0;
  header.ddp_reserved = (control >> 2) & 0xf;
  header.ddp_version = control & 3;
  header.rdmap_version = rdmap >> 6;
  header.rdmap_reserved = (rdmap >> 4) & 3;
  header.opcode = rdmap & 0xf;
  if (header.tagged) {
    header.stag = MemoryKey(field::DdpTagged::Stag::load(p));
    header.offset = field::DdpTagged::TaggedOffset::load(p);
  } else {
    header.ulp = field::DdpUntagged::Ulp::load(p);
    header.queue = field::DdpUntagged::Queue::load(p);
    header.msn = field::DdpUntagged::Msn::load(p);
    header.message_offset = field::DdpUntagged::MessageOffset::load(p);
  }
  return header;
}

std::size_t encode(const DdpHeader& header, MutableBytes out) {
  std::byte* const p = out.data();
  field::Ddp::Control::store(
      p, static_cast<std::uint8_t>((header.tagged ? 0x80 : 0) | (header.last ? 0x40 : 0) |
                                   ((header.ddp_reserved & 0xf) << 2) | (header.ddp_version & 3)));
  field::Ddp::RdmapControl::store(
      p, static_cast<std::uint8_t>(((header.rdmap_version & 3) << 6) | ((header.rdmap_reserved & 3) << 4) |
                                   (header.opcode & 0xf)));
  if (header.tagged) {
    field::DdpTagged::Stag::store(p, header.stag.value);
    field::DdpTagged::TaggedOffset::store(p, header.offset);
  } else {
    field::DdpUntagged::Ulp::store(p, header.ulp);
    field::DdpUntagged::Queue::store(p, header.queue);
    field::DdpUntagged::Msn::store(p, header.msn);
    field::DdpUntagged::MessageOffset::store(p, header.message_offset);
  }
  return ddp_bytes(header);
}

DdpHeader ddp_header(RdmapOpcode opcode) {
  const RdmapOpcodeInfo& info = rdmap_opcode_info(opcode);
  DdpHeader header;
  header.tagged = info.tagged;
  header.last = true;
  header.opcode = static_cast<std::uint8_t>(opcode);
  header.queue = static_cast<std::uint32_t>(info.queue);
  return header;
}

}  // namespace softrnic::wire
