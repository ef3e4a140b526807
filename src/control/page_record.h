// Records of the control page that are taken whole or not at all, between processes that share nothing else.
//
// The bytes move as words, each an atomic access: released by the writer after the sequence became odd,
// acquired by the reader before it looks at the sequence again. That orders them without fences (which thread
// sanitizers do not know).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "control/page_layout.h"

namespace softrnic::control {

using PageWord [[gnu::may_alias]] = std::uint64_t;

/// Copies `body` to `out` when it holds still. False when a writer is, or died, in the middle of it.
template <typename Body>
bool read_record(const PageSequence& sequence, const Body& body, Body& out) {
  static_assert(sizeof(Body) % sizeof(PageWord) == 0 && alignof(Body) == alignof(std::uint64_t));
  constexpr int kTries = 64;
  constexpr std::size_t kWords = sizeof(Body) / sizeof(PageWord);
  const auto* from = reinterpret_cast<const PageWord*>(&body);
  for (int i = 0; i < kTries; ++i) {
    PageWord words[kWords];
    const std::uint32_t before = sequence.load(std::memory_order_acquire);
    for (std::size_t w = 0; w < kWords; ++w) words[w] = __atomic_load_n(from + w, __ATOMIC_ACQUIRE);
    if ((before & 1) != 0 || sequence.load(std::memory_order_relaxed) != before) continue;
    std::memcpy(&out, words, sizeof out);
    return true;
  }
  return false;
}

/// Writes `body` to `place`. One writer at a time.
template <typename Body>
void write_record(PageSequence& sequence, Body& place, const Body& body) {
  static_assert(sizeof(Body) % sizeof(PageWord) == 0 && alignof(Body) == alignof(std::uint64_t));
  constexpr std::size_t kWords = sizeof(Body) / sizeof(PageWord);
  PageWord words[kWords];
  std::memcpy(words, &body, sizeof body);
  auto* to = reinterpret_cast<PageWord*>(&place);
  const std::uint32_t before = sequence.load(std::memory_order_relaxed);
  sequence.store(before | 1, std::memory_order_relaxed);
  for (std::size_t w = 0; w < kWords; ++w) __atomic_store_n(to + w, words[w], __ATOMIC_RELEASE);
  sequence.store((before | 1) + 1, std::memory_order_release);
}

}  // namespace softrnic::control
