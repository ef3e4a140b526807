#include "transport/ib/sge_list.h"

#include <algorithm>

#include "transport/ib/ordered_copy.h"

namespace softrnic::ib {
namespace {

// Calls use(pointer, bytes, sge) for every piece of [offset, offset + size) until one of them returns
// a reason to stop. The whole SGE is checked, not just the piece: a message that leaves its region
// fails at its first packet.
template <typename Use>
Expected<void, Reason> walk(Host& host, std::span<const Sge> sges, SgeCursor& cursor, std::uint64_t offset,
                            std::uint64_t size, std::uint32_t access, Use use) {
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
    auto memory = host.local_memory(sge.lkey, sge.address, sge.length, access);
    if (!memory) return Unexpected{memory.error()};
    if (auto used = use(*memory + skip, static_cast<std::size_t>(piece), sge); !used) return used;
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
  return walk(host, sges, cursor, offset, size, 0, add);
}

Expected<void, Reason> scatter(Host& host, std::span<const Sge> sges, SgeCursor& cursor, std::uint64_t offset,
                               const Payload& payload) {
  std::size_t done = 0;
  const auto fill = [&](std::byte* to, std::size_t piece, const Sge&) -> Expected<void, Reason> {
    if (!copy(payload, done, to, piece)) return Unexpected{because(ReasonId::payload_gone, payload.size)};
    done += piece;
    return {};
  };
  return walk(host, sges, cursor, offset, payload.size, kLocalWrite, fill);
}

}  // namespace softrnic::ib
