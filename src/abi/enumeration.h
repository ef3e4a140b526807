// Enumerations as programs of C hand them in.
#pragma once

#include <bit>
#include <cstdint>

namespace softrnic::abi {

/// Any number may come where a function takes an enumeration. One that the enumeration cannot hold must not
/// be read as a value of it ([conv.lval], [dcl.enum]).
template <typename Enumeration>
constexpr std::int32_t number_of(const Enumeration& value) {
  return std::bit_cast<std::int32_t>(value);
}

}  // namespace softrnic::abi
