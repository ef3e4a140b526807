// Formats as tables: a message is a struct, its format a table of fields in wire order (name, place, width,
// member), from which encoder, decoder and printer derive. A table covers every bit of the message, reserved
// ones too, so that what was decoded is encoded to the same bytes.
//
// A table that stands in `fields_of` beside its struct says all there is to say of a format:
//
//   template <>
//   inline constexpr std::array fields_of<LedInfo> = {
//       field<&LedInfo::led_mask>("led_mask", 0, 0, 1),
//       field<&LedInfo::reserved>("reserved", 0, 1, 31),
//   };
//   static_assert(covers<LedInfo>(4));
//
// Then there is decode<LedInfo>(bytes), encode(info, bytes), to_string(info), and a LedInfo can itself be a
// field.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/bytes.h"
#include "mad/field_value.h"

namespace softrnic::mad {

/// One field of message type M. Offsets count from the start of the message, bit 0 being the most
/// significant.
template <typename M>
struct Field {
  std::string_view name;
  std::uint16_t bit;
  std::uint16_t width;
  std::uint16_t elements;    ///< of an array; 1 of anything else
  std::uint16_t components;  ///< bits it has in a component mask (mad/component_mask.h)
  std::int16_t select;       ///< bit of a CounterSelect, of arrays the first; -1: none (mad/counter.h)
  void (*load)(Bytes bytes, std::size_t bit, std::size_t width, M& message);
  void (*store)(const M& message, MutableBytes bytes, std::size_t bit, std::size_t width);
  void (*print)(const M& message, std::string_view name, std::string& out);
  bool (*same)(const M& a, const M& b);
  bool (*matches)(std::uint64_t mask, std::size_t components, const M& query, const M& record);
  std::uint64_t (*component)(std::string_view name);  ///< the mask of a field of the nested format

  /// The same, with a bit of the component mask for each element of the array.
  constexpr Field each() const {
    Field changed = *this;
    changed.components = elements;
    return changed;
  }
  /// The same, sharing the bit of the field before: later releases divided what was one component.
  constexpr Field with_previous() const {
    Field changed = *this;
    changed.components = 0;
    return changed;
  }
  /// The same, selected by this bit of CounterSelect; an array by this one and those that follow.
  constexpr Field selected_by(std::int16_t bit_number) const {
    Field changed = *this;
    changed.select = bit_number;
    return changed;
  }
};

namespace detail {

/// The member that a path of member pointers leads to: at<&Req::primary, &PathBlock::sl>(request).
template <auto first, auto... rest, typename M>
constexpr auto& at(M& message) {
  if constexpr (sizeof...(rest) == 0) {
    return message.*first;
  } else {
    return at<rest...>(message.*first);
  }
}

template <typename M, typename T>
M struct_of(T M::*);

template <typename T>
constexpr std::uint16_t components_of() {
  std::uint16_t count = 0;
  if constexpr (Formatted<T>) {
    for (const auto& entry : fields_of<T>) count = static_cast<std::uint16_t>(count + entry.components);
  } else {
    count = 1;
  }
  return count;
}

/// A component mask from its bit `from` on.
constexpr std::uint64_t mask_from(std::uint64_t mask, std::size_t from) {
  return from < 64 ? mask >> from : 0;
}
/// `count` bits from bit `from` on.
constexpr std::uint64_t mask_of(std::size_t from, std::size_t count) {
  const std::uint64_t bits = count < 64 ? (std::uint64_t{1} << count) - 1 : ~std::uint64_t{0};
  return from < 64 ? bits << from : 0;
}

/// Calls `visit(entry, from, count)` with the place that each field of T has in a component mask, until it
/// returns false.
template <typename T, typename Visit>
constexpr bool each_component(const Visit& visit) {
  std::size_t next = 0;
  for (const auto& entry : fields_of<T>) {
    const bool shares = entry.components == 0 && next > 0;
    if (!visit(entry, shares ? next - 1 : next, shares ? 1 : entry.components)) return false;
    next += entry.components;
  }
  return true;
}

/// Compares what `mask` selects, whose bit 0 is the first component of the value.
template <typename T>
bool value_matches(std::uint64_t mask, std::size_t components, const T& query, const T& record) {
  if constexpr (Formatted<T>) {
    return each_component<T>([&](const auto& entry, std::size_t from, std::size_t count) {
      const std::uint64_t selected = mask_from(mask, from) & mask_of(0, count);
      return selected == 0 || entry.matches(selected, count, query, record);
    });
  } else {
    if (components > 1) {
      if constexpr (ArrayOf<T>::kElements > 1) {
        for (std::size_t i = 0; i < components; ++i)
          if ((mask_from(mask, i) & 1) != 0 && !same_value(query[i], record[i])) return false;
      }
      return true;
    }
    return (mask & 1) == 0 || same_value(query, record);
  }
}

/// The component mask of the fields of that name in a format, those of formats in it too; 0 without any.
template <typename T>
constexpr std::uint64_t component_in(std::string_view name) {
  std::uint64_t mask = 0;
  if constexpr (Formatted<T>) {
    each_component<T>([&](const auto& entry, std::size_t from, std::size_t count) {
      const std::uint64_t inner = entry.component(name);
      if (entry.name == name) mask |= mask_of(from, count);
      if (inner != 0 && from < 64) mask |= inner << from;
      return true;
    });
  }
  return mask;
}

/// Has no body, so that a table that calls it does not compile.
void field_does_not_fit_its_member();

}  // namespace detail

/// A field at byte `byte` and bit `bit` of it, `width` bits wide, kept in the member that `path` leads to
/// from M. Fields of bytes (GIDs, arrays of std::byte or char, nested formats) begin at a byte and are as
/// wide as their member; an array of anything else divides the width evenly.
template <typename M, auto... path>
constexpr Field<M> field(std::string_view name, unsigned byte, unsigned bit, unsigned width) {
  using T = std::remove_cvref_t<decltype(detail::at<path...>(std::declval<M&>()))>;
  const unsigned start = byte * 8 + bit;
  if (!detail::fits<T>(start, width)) detail::field_does_not_fit_its_member();
  return {name,
          static_cast<std::uint16_t>(start),
          static_cast<std::uint16_t>(width),
          detail::ArrayOf<T>::kElements,
          detail::components_of<T>(),
          -1,
          [](Bytes bytes, std::size_t at, std::size_t bits, M& message) {
            detail::load_value(bytes, at, bits, detail::at<path...>(message));
          },
          [](const M& message, MutableBytes bytes, std::size_t at, std::size_t bits) {
            detail::store_value(detail::at<path...>(message), bytes, at, bits);
          },
          [](const M& message, std::string_view label, std::string& out) {
            detail::print_value(detail::at<path...>(message), label, out);
          },
          [](const M& a, const M& b) {
            return detail::same_value(detail::at<path...>(a), detail::at<path...>(b));
          },
          [](std::uint64_t mask, std::size_t components, const M& query, const M& record) {
            return detail::value_matches(mask, components, detail::at<path...>(query),
                                         detail::at<path...>(record));
          },
          [](std::string_view label) { return detail::component_in<T>(label); }};
}

/// The same, of the struct that the first member pointer belongs to.
template <auto first, auto... rest>
constexpr auto field(std::string_view name, unsigned byte, unsigned bit, unsigned width) {
  return field<decltype(detail::struct_of(first)), first, rest...>(name, byte, bit, width);
}

/// Whether the fields lie end to end, from the first bit to the last of `bytes` bytes.
template <typename M, std::size_t n>
constexpr bool covers(const std::array<Field<M>, n>& fields, std::size_t bytes) {
  std::size_t next = 0;
  for (const Field<M>& entry : fields) {
    if (entry.bit != next) return false;
    next += entry.width;
  }
  return next == bytes * 8;
}
template <Formatted M>
constexpr bool covers(std::size_t bytes) {
  return covers(fields_of<M>, bytes);
}

/// The size of an encoded M.
template <Formatted M>
inline constexpr std::size_t kBytesOf = (fields_of<M>.back().bit + fields_of<M>.back().width) / 8;

template <typename M, std::size_t n>
M decode_fields(const std::array<Field<M>, n>& fields, Bytes bytes) {
  M message;
  for (const Field<M>& entry : fields) entry.load(bytes, entry.bit, entry.width, message);
  return message;
}

template <typename M, std::size_t n>
void encode_fields(const std::array<Field<M>, n>& fields, const M& message, MutableBytes bytes) {
  for (const Field<M>& entry : fields) entry.store(message, bytes, entry.bit, entry.width);
}

/// Every field that is not zero, in wire order; for people.
template <typename M, std::size_t n>
std::string print_fields(const std::array<Field<M>, n>& fields, const M& message) {
  std::string out;
  for (const Field<M>& entry : fields) entry.print(message, entry.name, out);
  if (!out.empty()) out.pop_back();
  return out;
}

/// Reads an M at the start of `bytes`; what they are short of kBytesOf<M> is taken as zero.
template <Formatted M>
M decode(Bytes bytes) {
  if (bytes.size() >= kBytesOf<M>) return decode_fields(fields_of<M>, bytes);
  std::array<std::byte, kBytesOf<M>> padded{};
  std::copy(bytes.begin(), bytes.end(), padded.begin());
  return decode_fields(fields_of<M>, padded);
}

/// Writes it to the start of `bytes`, as far as they go.
template <Formatted M>
void encode(const M& message, MutableBytes bytes) {
  if (bytes.size() >= kBytesOf<M>) return encode_fields(fields_of<M>, message, bytes);
  std::array<std::byte, kBytesOf<M>> whole{};
  encode_fields(fields_of<M>, message, whole);
  std::copy_n(whole.begin(), bytes.size(), bytes.begin());
}

template <Formatted M>
std::array<std::byte, kBytesOf<M>> encoded(const M& message) {
  std::array<std::byte, kBytesOf<M>> bytes{};
  encode_fields(fields_of<M>, message, bytes);
  return bytes;
}

template <Formatted M>
std::string to_string(const M& message) {
  return print_fields(fields_of<M>, message);
}

}  // namespace softrnic::mad
