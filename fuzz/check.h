// What every fuzzer needs: the entry point's signature, a check that stops the run, and a reader of the
// input.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>

#include "base/bytes.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

/// Stops the fuzzer at this input when `condition` does not hold, in every kind of build.
#define FUZZ_CHECK(condition)                                                            \
  do {                                                                                   \
    if (!(condition)) {                                                                  \
      std::fprintf(stderr, "%s:%d: check failed: %s\n", __FILE__, __LINE__, #condition); \
      __builtin_trap();                                                                  \
    }                                                                                    \
  } while (false)

namespace softrnic::fuzz {

/// Takes values off the front of an input; zeros when it is used up.
class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : rest_(reinterpret_cast<const std::byte*>(data), size) {}

  template <typename Integer>
  Integer take() {
    Integer value{};
    const std::size_t n = std::min(sizeof value, rest_.size());
    if (n > 0) std::memcpy(&value, rest_.data(), n);
    rest_ = rest_.subspan(n);
    return value;
  }
  Bytes take_bytes(std::size_t size) {
    const Bytes taken = rest_.first(std::min(size, rest_.size()));
    rest_ = rest_.subspan(taken.size());
    return taken;
  }
  Bytes rest() const { return rest_; }
  bool empty() const { return rest_.empty(); }

 private:
  Bytes rest_;
};

}  // namespace softrnic::fuzz
