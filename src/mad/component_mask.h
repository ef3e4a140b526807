// Component masks: which fields of a record a query tells (IBTA 15.2.1.1, 15.2.5). Bit n stands for the n-th
// field of the record's table, reserved ones counted; a format within the record counts with all its fields.
#pragma once

#include <cstdint>
#include <string_view>

#include "mad/field.h"

namespace softrnic::mad {

namespace detail {
/// Has no body, so that a mask of an unknown field does not compile.
void no_such_field();
}  // namespace detail

/// The mask of a field of M: component<PathRecord>("dgid"). Of an array or a format within, all its bits.
template <Formatted M>
consteval std::uint64_t component(std::string_view name) {
  const std::uint64_t mask = detail::component_in<M>(name);
  if (mask == 0) detail::no_such_field();
  return mask;
}

/// Whether the record agrees with the query in every field that `mask` selects. Bits beyond the last field
/// select nothing.
template <Formatted M>
bool matches(std::uint64_t mask, const M& query, const M& record) {
  return detail::value_matches(mask, 1, query, record);
}

}  // namespace softrnic::mad
