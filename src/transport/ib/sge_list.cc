#include "transport/ib/sge_list.h"

#include <algorithm>

#include "transport/ib/ordered_copy.h"

namespace softrnic::ib {
namespace {

// Calls use(pointer, bytes, sge) for every piece of [offset, offset + size) until one of them returns
// a reason to stop. Of a message that fills its SGEs the whole SGE is checked: what leaves its region fails
// at its first packet. A receive may be longer than what comes for it, and only the bytes scattered have to
// lie in the region.
template <typename Use>
Expected<void, Reason> walk(Host& host, std::span<const Sge> sges, SgeCursor& cursor, std::uint64_t offset,
                            std::uint64_t size, LocalUse purpose, Use use) {
  if (offset < cursor.base) cursor = {};
  while (size > 0) {
    if (cursor.index >= sges.size()) {
      return Unexpected{because(ReasonId::local_length, offset + size, cursor.base)};
    }
    const Sge& sge = sges[cursor.index];
    if (offset >= cursor.base + sge.length) {
      cursor.base += sge.length;
      ++cursor.index;
      continue;
    }
    const std::uint64_t skip = offset - cursor.base;
    const std::uint64_t piece = std::min<std::uint64_t>(size, sge.length - skip);
    const bool whole = purpose != LocalUse::receive;
    auto memory = whole ? host.local_memory(sge.lkey, sge.address, sge.length, purpose)
                        : host.local_memory(sge.lkey, sge.address + skip, piece, purpose);
    if (!memory) return Unexpected{memory.error()};
    if (auto used = use(*memory + (whole ? skip : 0), static_cast<std::size_t>(piece), sge); !used)
      return used;
    offset += piece;
    size -= piece;
  }
  return {};
}

}  // namespace

Expected<void, Reason> gather(Host& host, std::span<const Sge> sges, SgeCursor& cursor, std::uint64_t offset,
                              std::uint32_t size, TxPacket& out) {
  const auto add = [&](const std::byte* data, std::size_t piece, const Sge& sge) -> Expected<void, Reason> {
    if (out.fragment_count == TxPacket::kMaxFragments)
      return Unexpected{because(ReasonId::too_many_sge, sges.size(), TxPacket::kMaxFragments)};
    out.fragments[out.fragment_count++] = {data, piece, sge.lkey};
    out.payload_bytes += static_cast<std::uint32_t>(piece);
    return {};
  };
  return walk(host, sges, cursor, offset, size, LocalUse::send, add);
}

Expected<void, Reason> scatter(Host& host, LocalUse use, std::span<const Sge> sges, SgeCursor& cursor,
                               std::uint64_t offset, const Payload& payload) {
  std::size_t done = 0;
  const auto fill = [&](std::byte* to, std::size_t piece, const Sge&) -> Expected<void, Reason> {
    if (!copy(payload, done, to, piece)) return Unexpected{because(ReasonId::payload_gone, payload.size)};
    done += piece;
    return {};
  };
  return walk(host, sges, cursor, offset, payload.size, use, fill);
}

}  // namespace softrnic::ib
