// A look at memory that somebody else may change at any time, hostile ones too: every word is read once, and
// what was checked is what is used. (A plain copy is no such look: a compiler may read the source again
// where the copy is used.)
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace softrnic::samehost {

/// `from` is aligned to 8 bytes. The words need not belong to one state of what is there.
template <typename T>
T fetch_once(const void* from) {
  using Word [[gnu::may_alias]] = std::uint64_t;
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) % sizeof(std::uint64_t) == 0);
  std::array<std::uint64_t, sizeof(T) / sizeof(std::uint64_t)> words;
  for (std::size_t i = 0; i < words.size(); ++i)
    words[i] = __atomic_load_n(static_cast<const Word*>(from) + i, __ATOMIC_RELAXED);
  return std::bit_cast<T>(words);
}

}  // namespace softrnic::samehost
