// What tests of formats share: bytes that tell their place, and offsets told by another source.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <initializer_list>
#include <string_view>

#include "mad/component_mask.h"
#include "mad/field.h"

namespace softrnic::mad {

/// 1, 2, 3 …: every byte differs from its neighbours.
template <std::size_t n>
std::array<std::byte, n> counting() {
  std::array<std::byte, n> bytes;
  for (std::size_t i = 0; i < n; ++i) bytes[i] = static_cast<std::byte>(i + 1);
  return bytes;
}

/// What is decoded is encoded to the same bytes, whatever they are, and a format has no bit that is not read.
template <Formatted M>
void expect_every_bit_kept() {
  auto bytes = counting<kBytesOf<M>>();
  EXPECT_EQ(encoded(decode<M>(bytes)), bytes) << to_string(decode<M>(bytes));
  for (std::byte& byte : bytes) byte = ~byte;
  EXPECT_EQ(encoded(decode<M>(bytes)), bytes) << to_string(decode<M>(bytes));
}

/// Where libibmad's fields.c or opensm's ib_types.h has a field: bits from the start, and its width.
struct Place {
  std::string_view name;
  std::size_t bit;
  std::size_t width;
};

template <Formatted M>
void expect_places(std::initializer_list<Place> places) {
  for (const Place& place : places) {
    const auto found = std::ranges::find(fields_of<M>, place.name, &Field<M>::name);
    ASSERT_NE(found, fields_of<M>.end()) << place.name;
    EXPECT_EQ(found->bit, place.bit) << place.name;
    EXPECT_EQ(found->width, place.width) << place.name;
  }
  expect_every_bit_kept<M>();
}

}  // namespace softrnic::mad
