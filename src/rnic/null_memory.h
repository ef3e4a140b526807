// What lies behind null regions (ibv_alloc_null_mr): bytes that are zero, and bytes into which anything may
// be written. Both are address space; of memory the first takes none and the second a few MiB.
#pragma once

#include <cstddef>
#include <cstdint>

namespace softrnic::rnic {

class NullMemory {
 public:
  /// As long as the longest message.
  static constexpr std::uint64_t kBytes = std::uint64_t{1} << 31;

  /// The one of this process, made when it is first asked for. nullptr: there is no address space for it.
  static const NullMemory* process();

  std::byte* zeros() const { return zeros_; }
  /// Where writes go instead.
  static std::byte* sink_of(std::byte* zeros) { return zeros + kBytes; }

 private:
  explicit NullMemory(std::byte* zeros) : zeros_(zeros) {}
  static const NullMemory* make();

  std::byte* zeros_;
};

}  // namespace softrnic::rnic
