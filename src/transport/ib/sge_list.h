// Moving payload between packets and scatter/gather lists.
//
// Keys are resolved anew for every packet, as a region may be deregistered while a message is under way; the
// work request then ends with a protection error.
#pragma once

#include <cstdint>
#include <span>

#include "transport/ib/host.h"
#include "transport/ib/rx_packet.h"

namespace softrnic::ib {

/// Remembers where in a list the last packet ended, so that a message is walked once and not once per packet.
struct SgeCursor {
  std::uint32_t index = 0;  ///< SGE
  std::uint64_t base = 0;   ///< message offset at which it begins
};

/// Appends the fragments of message bytes [offset, offset + size) to `out`. Error: why a key does not allow
/// it.
Expected<void, Reason> gather(Host& host, std::span<const Sge> sges, SgeCursor& cursor, std::uint64_t offset,
                              std::uint32_t size, TxPacket& out);

/// Writes `payload` to message bytes [offset, …) of a response or a receive. The last byte of every SGE is
/// written last. Error: as above, or ReasonId::payload_gone.
Expected<void, Reason> scatter(Host& host, LocalUse use, std::span<const Sge> sges, SgeCursor& cursor,
                               std::uint64_t offset, const Payload& payload);

/// Writes bytes [offset, offset + size) of `payload`; the last one becomes visible last. Error:
/// ReasonId::payload_gone, or `to` has on-demand paging and is not there (ReasonId::page_missing).
Expected<void, Reason> place(Host& host, const Payload& payload, std::size_t offset, const HostMemory& to,
                             std::size_t size);

/// Appends `size` bytes to `out`, which is to carry `all`. Error: they have on-demand paging and are not
/// there.
Expected<void, Reason> add_fragment(Host& host, const HostMemory& from, std::size_t size, MemoryKey key,
                                    std::size_t all, TxPacket& out);

}  // namespace softrnic::ib
