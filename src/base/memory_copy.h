// Copying memory where processors are slow at it.
//
// On AMD's Zen 3, and Zen 4 as well (glibc bug 30994), `rep movsb` crawls, at a sixteenth of its rate, where
// the destination lies a few bytes behind the source, counted modulo the 4 KiB of a page: as when a
// page-aligned buffer goes to one of malloc(3), which begins 16 bytes behind the beginning of a page.
// glibc's memcpy may use that instruction for 2 KiB and more (2.36, of Debian 12, does on these processors),
// and so does the kernel when it copies for a system call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace softrnic {

/// Fewer bytes are copied without `rep movsb` by every memcpy(3).
inline constexpr std::size_t kStringCopyBytes = 2048;

/// Whether copying many bytes by `rep movsb` crawls. Addresses of two processes can be compared as well: what
/// counts is their place within a page.
constexpr bool string_copy_crawls(std::uintptr_t to, std::uintptr_t from) {
  constexpr std::uintptr_t kPage = 4096, kLine = 64;
  const std::uintptr_t behind = (to - from) % kPage;
  return behind > 0 && behind < kLine;
}

/// As memmove(3), but fast wherever the bytes lie.
inline void copy_memory(std::byte* to, const std::byte* from, std::size_t size) {
  const auto target = reinterpret_cast<std::uintptr_t>(to), source = reinterpret_cast<std::uintptr_t>(from);
  // piece by piece would destroy what is to be copied later where `to` begins within the source
  if (size >= kStringCopyBytes && target - source >= size && string_copy_crawls(target, source)) {
    constexpr std::size_t kPiece = kStringCopyBytes - 64;
    for (; size > kPiece; to += kPiece, from += kPiece, size -= kPiece) std::memmove(to, from, kPiece);
  }
  std::memmove(to, from, size);
}

}  // namespace softrnic
