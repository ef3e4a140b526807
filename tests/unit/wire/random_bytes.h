// Bytes without a pattern, for tests of checksums.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace softrnic::wire {

inline std::vector<std::byte> random_bytes(std::size_t size, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::byte> bytes(size);
  for (std::byte& b : bytes) b = static_cast<std::byte>(random());
  return bytes;
}

}  // namespace softrnic::wire
