// GUIDs: the 64-bit names that nodes, ports and systems keep for ever (IBTA 4.1.1).
#pragma once

#include <cstdint>
#include <functional>

#include "base/bytes.h"
#include "base/strong.h"
#include "wire/gid.h"

namespace softrnic::mad {

struct Guid : Strong<struct GuidTag, std::uint64_t> {
  using Strong::Strong;
  constexpr bool is_zero() const { return value == 0; }
};

/// fe80::/64: the prefix of a subnet that was given none, in host order.
inline constexpr std::uint64_t kDefaultSubnetPrefix = 0xfe80000000000000;

/// The GID of a port: prefix of its subnet, and GUID (IBTA 4.1.1).
inline wire::Gid gid_of(std::uint64_t subnet_prefix, Guid guid) {
  wire::Gid gid;
  store_be64(gid.raw.data(), subnet_prefix);
  store_be64(gid.raw.data() + 8, guid.value);
  return gid;
}

}  // namespace softrnic::mad

template <>
struct std::hash<softrnic::mad::Guid> {
  std::size_t operator()(softrnic::mad::Guid guid) const noexcept {
    return std::hash<std::uint64_t>{}(guid.value);
  }
};
