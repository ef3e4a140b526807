// Formats as tables: a message is a struct, its format a table of fields in wire order (name, place, width,
// member), from which encoder, decoder and printer derive. A table covers every bit of the message, reserved
// ones too, so that what was decoded is encoded to the same bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
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

/// "name=0x12 ": a number, a GID or, of longer fields, the bytes up to the last that is not zero.
void print_number(std::string& out, std::string_view name, std::uint64_t value);
void print_gid(std::string& out, std::string_view name, const wire::Gid& gid);
void print_bytes(std::string& out, std::string_view name, Bytes bytes);

/// One field of message type M. Offsets count from the start of the message, bit 0 being the most
/// significant.
template <typename M>
struct Field {
  std::string_view name;
  std::uint16_t bit;
  std::uint16_t width;
  void (*load)(Bytes bytes, std::size_t bit, std::size_t width, M& message);
  void (*store)(const M& message, MutableBytes bytes, std::size_t bit, std::size_t width);
  void (*print)(const M& message, std::string_view name, std::string& out);
};

namespace detail {

template <typename T>
concept Number = std::is_integral_v<T> || std::is_enum_v<T>;
template <typename T>
concept Strong = requires(T t) {
  t.value;
};

template <typename T>
void load_value(Bytes bytes, std::size_t bit, std::size_t width, T& out) {
  if constexpr (Number<T>) {
    out = static_cast<T>(load_bits(bytes, bit, width));
  } else if constexpr (Strong<T>) {
    load_value(bytes, bit, width, out.value);
  } else if constexpr (std::is_same_v<T, wire::Gid>) {
    std::memcpy(out.raw.data(), &bytes[bit / 8], out.raw.size());
  } else {
    std::memcpy(out.data(), &bytes[bit / 8], out.size());
  }
}

template <typename T>
void store_value(const T& value, MutableBytes bytes, std::size_t bit, std::size_t width) {
  if constexpr (Number<T>) {
    store_bits(bytes, bit, width, static_cast<std::uint64_t>(value));
  } else if constexpr (Strong<T>) {
    store_bits(bytes, bit, width, value.value);
  } else if constexpr (std::is_same_v<T, wire::Gid>) {
    std::memcpy(&bytes[bit / 8], value.raw.data(), value.raw.size());
  } else {
    std::memcpy(&bytes[bit / 8], value.data(), value.size());
  }
}

template <typename T>
void print_value(const T& value, std::string_view name, std::string& out) {
  if constexpr (Number<T>) {
    print_number(out, name, static_cast<std::uint64_t>(value));
  } else if constexpr (Strong<T>) {
    print_number(out, name, value.value);
  } else if constexpr (std::is_same_v<T, wire::Gid>) {
    print_gid(out, name, value);
  } else {
    print_bytes(out, name, value);
  }
}

/// The member that a path of member pointers leads to: at<&Req::primary, &PathBlock::sl>(request).
template <auto first, auto... rest, typename M>
constexpr auto& at(M& message) {
  if constexpr (sizeof...(rest) == 0) {
    return message.*first;
  } else {
    return at<rest...>(message.*first);
  }
}

}  // namespace detail

/// A field at byte `byte` and bit `bit` of it, `width` bits wide, kept in the member that `path` leads to
/// from M. Fields of bytes (GIDs, arrays) begin at a byte and are as wide as their member.
template <typename M, auto... path>
constexpr Field<M> field(std::string_view name, unsigned byte, unsigned bit, unsigned width) {
  return {name,
          static_cast<std::uint16_t>(byte * 8 + bit),
          static_cast<std::uint16_t>(width),
          [](Bytes bytes, std::size_t at, std::size_t bits, M& message) {
            detail::load_value(bytes, at, bits, detail::at<path...>(message));
          },
          [](const M& message, MutableBytes bytes, std::size_t at, std::size_t bits) {
            detail::store_value(detail::at<path...>(message), bytes, at, bits);
          },
          [](const M& message, std::string_view label, std::string& out) {
            detail::print_value(detail::at<path...>(message), label, out);
          }};
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

}  // namespace softrnic::mad
