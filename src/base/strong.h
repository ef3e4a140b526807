// Numbers that cannot be mistaken for one another.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace softrnic {

/// An integer of type `Rep` whose meaning is named by `Tag`; no arithmetic, only comparison.
template <typename Tag, typename Rep>
struct Strong {
  Rep value{};

  constexpr Strong() = default;
  constexpr explicit Strong(Rep v) : value(v) {}
  constexpr auto operator<=>(const Strong&) const = default;
};

/// A 24-bit queue pair number. In softrnic: lane (8 bits) | index (16 bits).
struct Qpn : Strong<struct QpnTag, std::uint32_t> {
  using Strong::Strong;
  static constexpr std::uint16_t kLaneIndex = 0;  ///< index of no queue pair: messages between lanes go there
  static constexpr std::uint32_t kMulticast = 0xffffff;  ///< destination of multicast packets (IBTA 9.2.5)
  constexpr std::uint8_t lane() const { return static_cast<std::uint8_t>(value >> 16); }
  constexpr std::uint16_t index() const { return static_cast<std::uint16_t>(value); }
  static constexpr Qpn of(std::uint8_t lane, std::uint16_t index) {
    return Qpn((static_cast<std::uint32_t>(lane) << 16) | index);
  }
};

/// A memory key: the same number serves as lkey and rkey of a region.
struct MemoryKey : Strong<struct MemoryKeyTag, std::uint32_t> {
  using Strong::Strong;
};

}  // namespace softrnic

template <>
struct std::hash<softrnic::Qpn> {
  std::size_t operator()(softrnic::Qpn q) const noexcept { return q.value; }
};
template <>
struct std::hash<softrnic::MemoryKey> {
  std::size_t operator()(softrnic::MemoryKey k) const noexcept { return k.value; }
};
