// Copying into memory that a program may be polling.
//
// Programs spin on the last byte, or the last word, of a buffer that a peer writes. memcpy stores in any
// order; here the end is stored last, as one word where its alignment allows, with release order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/memory_copy.h"
#include "transport/ib/rx_packet.h"

namespace softrnic::ib {

template <typename Word>
void copy_end_last(std::byte* to, const std::byte* from, std::size_t size) {
  Word end;
  std::memcpy(&end, from + size - sizeof(Word), sizeof(Word));
  copy_memory(to, from, size - sizeof(Word));
  __atomic_store_n(reinterpret_cast<Word*>(to + size - sizeof(Word)), end, __ATOMIC_RELEASE);
}

/// Copies `size` bytes, which may overlap; the last byte becomes visible last.
inline void ordered_copy(std::byte* to, const std::byte* from, std::size_t size) {
  if (size == 0) return;
  const auto end = reinterpret_cast<std::uintptr_t>(to) + size;
  if (size >= 8 && end % 8 == 0) return copy_end_last<std::uint64_t>(to, from, size);
  if (size >= 4 && end % 4 == 0) return copy_end_last<std::uint32_t>(to, from, size);
  copy_end_last<std::uint8_t>(to, from, size);
}

/// The same with bytes [offset, offset + size) of a payload. False: they are not to be had.
inline bool copy(const Payload& payload, std::size_t offset, std::byte* to, std::size_t size) {
  if (payload.source != nullptr) return payload.source->copy(payload.offset + offset, to, size);
  ordered_copy(to, payload.bytes.data() + offset, size);
  return true;
}

}  // namespace softrnic::ib
