// Little-endian fields in byte buffers that a peer filled, or may still be writing to: every length is
// checked, every value is read once, texts are copied out before anybody judges them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/bytes.h"

namespace softrnic::copy {

/// A structure of the protocol has `template <class Self, class Archive> static void fields(Self&,
/// Archive&)`, which names its fields in the order of the wire. Reader, Writer and Size walk them.
inline constexpr std::size_t kMaxText = 0xffff;

/// Takes fields off a buffer. After the first that does not fit, `ok()` is false and the
/// others are left as they are.
class Reader {
 public:
  explicit Reader(Bytes bytes) : bytes_(bytes) {}

  template <typename Integer>
  requires std::is_integral_v<Integer>
  void operator()(Integer& value) {
    const std::byte* from = take(sizeof value);
    if (from == nullptr) return;
    std::memcpy(&value, from, sizeof value);
    // The peer may write to a ring buffer at any time: the value that is checked is the value that is used.
    asm volatile("" ::: "memory");
  }
  template <std::size_t N>
  void operator()(std::array<std::byte, N>& value) {
    if (const std::byte* from = take(N)) std::memcpy(value.data(), from, N);
  }
  /// 16 bits of length, then the bytes.
  void operator()(std::string& text) {
    std::uint16_t length = 0;
    (*this)(length);
    const std::byte* from = take(length);
    if (from != nullptr) text.assign(reinterpret_cast<const char*>(from), length);
  }

  bool ok() const { return ok_; }
  Bytes rest() const { return bytes_; }

 private:
  const std::byte* take(std::size_t count) {
    if (!ok_ || bytes_.size() < count) {
      ok_ = false;
      return nullptr;
    }
    const std::byte* from = bytes_.data();
    bytes_ = bytes_.subspan(count);
    return from;
  }

  Bytes bytes_;
  bool ok_ = true;
};

/// Puts fields into a buffer. `ok()` is false when they did not fit.
class Writer {
 public:
  explicit Writer(MutableBytes bytes) : bytes_(bytes) {}

  template <typename Integer>
  requires std::is_integral_v<Integer>
  void operator()(const Integer& value) { put(&value, sizeof value); }
  template <std::size_t N>
  void operator()(const std::array<std::byte, N>& value) {
    put(value.data(), N);
  }
  void operator()(const std::string& text) {
    if (text.size() > kMaxText) ok_ = false;
    (*this)(static_cast<std::uint16_t>(text.size()));
    put(text.data(), text.size());
  }

  bool ok() const { return ok_; }
  std::size_t size() const { return at_; }

 private:
  void put(const void* from, std::size_t count) {
    if (!ok_ || bytes_.size() - at_ < count) {
      ok_ = false;
      return;
    }
    if (count != 0) std::memcpy(bytes_.data() + at_, from, count);
    at_ += count;
  }

  MutableBytes bytes_;
  std::size_t at_ = 0;
  bool ok_ = true;
};

/// How many bytes the fields take.
class Size {
 public:
  template <typename Integer>
  requires std::is_integral_v<Integer>
  void operator()(const Integer&) { size_ += sizeof(Integer); }
  template <std::size_t N>
  void operator()(const std::array<std::byte, N>&) {
    size_ += N;
  }
  void operator()(const std::string& text) { size_ += 2 + text.size(); }
  std::size_t size() const { return size_; }

 private:
  std::size_t size_ = 0;
};

template <typename Structure>
std::size_t size_of(const Structure& structure) {
  Size size;
  Structure::fields(structure, size);
  return size.size();
}

/// Bytes written; 0 when `into` is too small.
template <typename Structure>
std::size_t encode(const Structure& structure, MutableBytes into) {
  Writer writer(into);
  Structure::fields(structure, writer);
  return writer.ok() ? writer.size() : 0;
}

/// False when `from` is too short. Bytes behind the fields are left for later versions of the protocol.
template <typename Structure>
bool decode(Structure& structure, Bytes from) {
  Reader reader(from);
  Structure::fields(structure, reader);
  return reader.ok();
}

}  // namespace softrnic::copy
