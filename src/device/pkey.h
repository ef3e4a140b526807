// P_Keys: 15 bits name a partition, the highest one says that its holder is a full member (IBTA 10.9).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace softrnic::device {

inline constexpr std::uint16_t kFullMember = 0x8000;

/// Of one partition. A P_Key whose low 15 bits are zero is of none (IBTA 10.9.1.2).
constexpr bool same_partition(std::uint16_t a, std::uint16_t b) {
  constexpr std::uint16_t kPartition = 0x7fff;
  return (a & kPartition) != 0 && ((a ^ b) & kPartition) == 0;
}

/// Whether who has the one takes packets with the other: two limited members do not talk (IBTA 10.9.3).
constexpr bool pkeys_match(std::uint16_t a, std::uint16_t b) {
  return same_partition(a, b) && ((a | b) & kFullMember) != 0;
}

/// The index of the entry that is of the partition of `pkey`, as a full member if there is such an entry.
constexpr std::optional<std::uint16_t> pkey_index(std::span<const std::uint16_t> table, std::uint16_t pkey) {
  std::optional<std::uint16_t> found;
  for (std::size_t i = 0; i < table.size(); ++i) {
    if (!same_partition(table[i], pkey)) continue;
    if ((table[i] & kFullMember) != 0) return static_cast<std::uint16_t>(i);
    if (!found) found = static_cast<std::uint16_t>(i);
  }
  return found;
}

}  // namespace softrnic::device
