// What a field can hold, and how it is read, written, printed and compared: numbers, enumerators, strong
// types, GIDs, bytes, text, formats with a table of their own, and arrays of all these.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/bytes.h"
#include "wire/gid.h"

namespace softrnic::mad {

/// The `width` (at most 64) bits that begin at bit `bit` of `bytes`, most significant first.
std::uint64_t load_bits(Bytes bytes, std::size_t bit, std::size_t width);
/// Puts the low `width` bits of `value` there.
void store_bits(MutableBytes bytes, std::size_t bit, std::size_t width, std::uint64_t value);

/// "name=0x12 ": a number, a GID, text or, of longer fields, the bytes up to the last that is not zero.
/// Nothing for what is all zero.
void print_number(std::string& out, std::string_view name, std::uint64_t value);
void print_gid(std::string& out, std::string_view name, const wire::Gid& gid);
void print_text(std::string& out, std::string_view name, std::string_view text);
void print_bytes(std::string& out, std::string_view name, Bytes bytes);
/// "name[3]"
std::string element_name(std::string_view name, std::size_t index);

/// The table of a format: specialised beside the struct, as an array of Field<M>.
template <typename M>
inline constexpr std::nullptr_t fields_of = nullptr;

template <typename M>
concept Formatted = requires {
  fields_of<M>.size();
};

namespace detail {

template <typename T>
concept Number = std::is_integral_v<T> || std::is_enum_v<T>;
template <typename T>
concept Strong = requires(T t) {
  t.value;
};

template <typename T>
struct ArrayOf {
  static constexpr std::size_t kElements = 1;
  static constexpr bool kOfBytes = std::is_same_v<T, wire::Gid>;
};
template <typename T, std::size_t n>
struct ArrayOf<std::array<T, n>> {
  static constexpr bool kOfBytes = std::is_same_v<T, std::byte> || std::is_same_v<T, char>;
  static constexpr std::size_t kElements = kOfBytes ? 1 : n;
};
/// Bytes that are copied as they are.
template <typename T>
concept Raw = ArrayOf<T>::kOfBytes;

template <typename T>
void load_value(Bytes bytes, std::size_t bit, std::size_t width, T& out) {
  if constexpr (Number<T>) {
    out = static_cast<T>(load_bits(bytes, bit, width));
  } else if constexpr (Formatted<T>) {
    for (const auto& entry : fields_of<T>) entry.load(bytes, bit + entry.bit, entry.width, out);
  } else if constexpr (Strong<T>) {
    load_value(bytes, bit, width, out.value);
  } else if constexpr (Raw<T>) {
    std::memcpy(&out, &bytes[bit / 8], sizeof out);
  } else {
    const std::size_t each = width / out.size();
    for (std::size_t i = 0; i < out.size(); ++i) load_value(bytes, bit + i * each, each, out[i]);
  }
}

template <typename T>
void store_value(const T& value, MutableBytes bytes, std::size_t bit, std::size_t width) {
  if constexpr (Number<T>) {
    store_bits(bytes, bit, width, static_cast<std::uint64_t>(value));
  } else if constexpr (Formatted<T>) {
    for (const auto& entry : fields_of<T>) entry.store(value, bytes, bit + entry.bit, entry.width);
  } else if constexpr (Strong<T>) {
    store_bits(bytes, bit, width, value.value);
  } else if constexpr (Raw<T>) {
    std::memcpy(&bytes[bit / 8], &value, sizeof value);
  } else {
    const std::size_t each = width / value.size();
    for (std::size_t i = 0; i < value.size(); ++i) store_value(value[i], bytes, bit + i * each, each);
  }
}

template <typename T>
void print_value(const T& value, std::string_view name, std::string& out) {
  if constexpr (Number<T>) {
    print_number(out, name, static_cast<std::uint64_t>(value));
  } else if constexpr (Formatted<T>) {
    for (const auto& entry : fields_of<T>) entry.print(value, entry.name, out);
  } else if constexpr (Strong<T>) {
    print_number(out, name, value.value);
  } else if constexpr (std::is_same_v<T, wire::Gid>) {
    print_gid(out, name, value);
  } else if constexpr (!Raw<T>) {
    for (std::size_t i = 0; i < value.size(); ++i) print_value(value[i], element_name(name, i), out);
  } else if constexpr (std::is_same_v<typename T::value_type, char>) {
    print_text(out, name, std::string_view(value.data(), value.size()));
  } else {
    print_bytes(out, name, value);
  }
}

template <typename T>
bool same_value(const T& a, const T& b) {
  if constexpr (Number<T>) {
    return a == b;
  } else if constexpr (Formatted<T>) {
    for (const auto& entry : fields_of<T>)
      if (!entry.same(a, b)) return false;
    return true;
  } else if constexpr (Strong<T>) {
    return a.value == b.value;
  } else if constexpr (Raw<T>) {
    return std::memcmp(&a, &b, sizeof a) == 0;
  } else {
    for (std::size_t i = 0; i < a.size(); ++i)
      if (!same_value(a[i], b[i])) return false;
    return true;
  }
}

/// Whether a field of this type can lie there: no wider than its member, as wide as a counter is, bytes at a
/// byte and as wide as they are.
template <typename T>
constexpr bool fits(std::size_t bit, std::size_t width) {
  if constexpr (Formatted<T>) {
    return bit % 8 == 0 && width == fields_of<T>.back().bit + fields_of<T>.back().width;
  } else if constexpr (requires { T::kWidth; }) {
    return width == T::kWidth;
  } else if constexpr (Number<T> || Strong<T>) {
    return width > 0 && width <= 8 * sizeof(T);
  } else if constexpr (Raw<T>) {
    return bit % 8 == 0 && width == 8 * sizeof(T);
  } else {
    return width % T{}.size() == 0 && fits<typename T::value_type>(bit, width / T{}.size());
  }
}

}  // namespace detail
}  // namespace softrnic::mad
