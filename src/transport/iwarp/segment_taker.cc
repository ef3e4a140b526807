#include "transport/iwarp/segment_taker.h"

#include "base/reason_id.h"

namespace softrnic::iwarp {

Verdict check_sequence(const wire::DdpHeader& header, std::uint32_t due) {
  if (header.msn == due) return {};
  return {Fault::sequence, because(ReasonId::iwarp_sequence, header.queue, header.msn, due)};
}

Verdict BodyTaker::check_body(const wire::DdpHeader& header, const wire::RdmapOpcodeInfo& info,
                              std::size_t payload, std::uint32_t due) {
  body_bytes_ = 0;
  if (auto verdict = check_sequence(header, due); !verdict) return verdict;
  if (header.message_offset != 0)
    return {Fault::offset, because(ReasonId::iwarp_offset, header.queue, header.message_offset, 0)};
  const auto wrong = because(ReasonId::iwarp_body, header.opcode, payload, info.body);
  if (payload > info.body) return {Fault::body_long, wrong};
  if (payload < info.body || !header.last) return {Fault::body, wrong};
  body_bytes_ = info.body;
  return {};
}

Expected<Place, Reason> place_in(ib::Host& host, ib::LocalUse use, std::span<const ib::Sge> sges,
                                 std::uint64_t offset, std::size_t most) {
  std::uint64_t base = 0;
  for (const ib::Sge& sge : sges) {
    if (offset >= base + sge.length) {
      base += sge.length;
      continue;
    }
    const std::uint64_t skip = offset - base;
    const std::size_t piece = std::min<std::size_t>(most, sge.length - skip);
    const auto memory = host.local_memory(sge.lkey, sge.address + skip, piece, use);
    if (!memory) return Unexpected{memory.error()};
    return Place{*memory, piece};
  }
  return Unexpected{because(ReasonId::local_length, offset + most, base)};
}

}  // namespace softrnic::iwarp
