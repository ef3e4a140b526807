// Kinds of packets that the kernel drops before any program sees them (kernel_drops.def), and how many.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace softrnic {

enum class KernelDrop : std::uint8_t {
#define SOFTRNIC_KERNEL_DROP(id, counter, cause, chinese) id,
#include "base/kernel_drops.def"
#undef SOFTRNIC_KERNEL_DROP
};

struct KernelDropText {
  std::string_view counter;  ///< as nstat(8) names it
  std::string_view cause;
};

/// By KernelDrop.
inline constexpr auto kKernelDrops = std::to_array<KernelDropText>({
#define SOFTRNIC_KERNEL_DROP(id, counter, cause, chinese) {counter, cause},
#include "base/kernel_drops.def"
#undef SOFTRNIC_KERNEL_DROP
});

/// By KernelDrop: packets of all programs since the network namespace was made, or within a time.
using KernelDropCounts = std::array<std::uint64_t, kKernelDrops.size()>;

}  // namespace softrnic
