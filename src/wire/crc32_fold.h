// CRC-32 by folding: carry-less multiplication takes many bytes at a time to few that leave the same in the
// register ("Fast CRC Computation for Generic Polynomials Using PCLMULQDQ", Intel 2009).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace softrnic::wire {

inline constexpr std::size_t kFoldBlock = 16;

/// Writes to `to` one block that leaves in an empty register what `blocks` (at least 1) blocks from `from`
/// leave in one that held `state`.
using Fold = void (*)(std::uint32_t state, const std::byte* from, std::size_t blocks, std::byte* to);

struct NamedFold {
  const char* name;
  bool (*works)();  ///< on this processor
  Fold fold;
};
/// All that were built for this kind of processor, the fastest first.
std::span<const NamedFold> all_folds();
/// The fastest that works here; nullptr: none does.
Fold best_fold();

}  // namespace softrnic::wire
