// In which order a lane hands out the indices of its queue pairs: each of the 65,536 once before any comes
// again, and who has seen some of them cannot tell the next.
#pragma once

#include <array>
#include <cstdint>

namespace softrnic::engine {

/// A Feistel network of four rounds whose round functions are tables of random bytes (Luby and Rackoff,
/// 1988).
class QpnOrder {
 public:
  using Key = std::array<std::array<std::uint8_t, 256>, 4>;

  explicit QpnOrder(const Key& key) : key_(key) {}

  /// The index that comes at `turn`.
  std::uint16_t at(std::uint16_t turn) const {
    auto left = static_cast<std::uint8_t>(turn >> 8);
    auto right = static_cast<std::uint8_t>(turn);
    for (const auto& round : key_) {
      const auto next = static_cast<std::uint8_t>(left ^ round[right]);
      left = right;
      right = next;
    }
    return static_cast<std::uint16_t>(left << 8 | right);
  }

 private:
  Key key_;
};

/// A key of the kernel's random numbers.
QpnOrder::Key random_key();

}  // namespace softrnic::engine
