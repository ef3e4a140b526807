#include "transport/ib/sge_list.h"

#include <algorithm>

#include "base/reason_id.h"
#include "transport/ib/ordered_copy.h"

namespace softrnic::ib {
namespace {

// Calls use(memory, bytes, sge) for every piece of [offset, offset + size) until one of them returns
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
    memory->at += whole ? skip : 0;
    if (auto used = use(*memory, static_cast<std::size_t>(piece), sge); !used) return used;
    offset += piece;
    size -= piece;
  }
  return {};
}

Unexpected<Reason> missing(const HostMemory& memory, std::size_t size) {
  return Unexpected{because(ReasonId::page_missing, size, reinterpret_cast<std::uintptr_t>(memory.at))};
}

Unexpected<Reason> no_bounce_buffer(std::size_t size) {
  return Unexpected{because(ReasonId::out_of_memory, size)};
}

}  // namespace

Expected<void, Reason> place(Host& host, const Payload& payload, std::size_t offset, const HostMemory& to,
                             std::size_t size) {
  const auto gone = [&] { return Unexpected{because(ReasonId::payload_gone, payload.size)}; };
  if (!to.on_demand) {
    if (!copy(payload, offset, to.at, size)) return gone();
    return {};
  }
  const std::byte* from;
  if (payload.source == nullptr) {
    from = payload.bytes.data() + offset;
  } else {
    std::byte* const bounce = host.bounce_buffer(size);
    if (bounce == nullptr) return no_bounce_buffer(size);
    if (!copy(payload, offset, bounce, size)) return gone();
    from = bounce;
  }
  if (!host.store(to.at, from, size)) return missing(to, size);
  return {};
}

Expected<void, Reason> add_fragment(Host& host, const HostMemory& from, std::size_t size, MemoryKey key,
                                    std::size_t all, TxPacket& out) {
  Fragment& fragment = out.fragments[out.fragment_count++] = {from.at, size, key};
  if (from.on_demand) [[unlikely]] {
    std::byte* const bounce = host.bounce_buffer(all);
    if (bounce == nullptr) return no_bounce_buffer(all);
    std::byte* const copy = bounce + out.payload_bytes;
    if (!host.load(copy, from.at, size)) return missing(from, size);
    fragment = {copy, size, MemoryKey()};
  }
  out.payload_bytes += static_cast<std::uint32_t>(size);
  return {};
}

Expected<void, Reason> gather(Host& host, std::span<const Sge> sges, SgeCursor& cursor, std::uint64_t offset,
                              std::uint32_t size, TxPacket& out) {
  const auto add = [&](const HostMemory& from, std::size_t piece, const Sge& sge) -> Expected<void, Reason> {
    if (out.fragment_count == TxPacket::kMaxFragments)
      return Unexpected{because(ReasonId::too_many_sge, sges.size(), TxPacket::kMaxFragments)};
    return add_fragment(host, from, piece, sge.lkey, size, out);
  };
  return walk(host, sges, cursor, offset, size, LocalUse::send, add);
}

Expected<void, Reason> scatter(Host& host, LocalUse use, std::span<const Sge> sges, SgeCursor& cursor,
                               std::uint64_t offset, const Payload& payload) {
  std::size_t done = 0;
  const auto fill = [&](const HostMemory& to, std::size_t piece, const Sge&) -> Expected<void, Reason> {
    auto placed = place(host, payload, done, to, piece);
    done += piece;
    return placed;
  };
  return walk(host, sges, cursor, offset, payload.size, use, fill);
}

}  // namespace softrnic::ib
