// Buffers cut into scatter/gather elements, and messages laid out over them.
#pragma once

#include <vector>

#include "tests/sim/memory.h"

namespace softrnic::sim {

/// A region that holds `length` bytes in 1 to `pieces` SGEs, out of order and with gaps between them. SGEs of
/// length zero may occur; length 0 may give no SGE at all.
Region& add_scattered(Memory& memory, std::uint32_t length, std::uint16_t pieces, std::uint32_t access,
                      Use use, Rng& rng, std::vector<ib::Sge>& sges);

/// The bytes that the SGEs name, in order, taken from `image`, the region's bytes.
std::vector<std::byte> gather(const std::vector<ib::Sge>& sges, std::uint64_t base, Bytes image);

/// Lays `message` over the SGEs into `image`, beginning `skip` bytes into them.
void scatter(Bytes message, std::size_t skip, const std::vector<ib::Sge>& sges, std::uint64_t base,
             std::vector<std::byte>& image);

}  // namespace softrnic::sim
