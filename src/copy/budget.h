// How much memory peers make this process hold beyond the fixed buffers of their connections: names of files,
// above all.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "copy/error.h"

namespace softrnic::copy {

/// Bytes, for any thread. Who is refused is told the limit and the option that sets it.
class Budget {
 public:
  /// `option`: what changes it. What is taken counts in `whole`, too, and is given back when this ends.
  Budget(std::uint64_t bytes, std::string option, Budget* whole = nullptr)
      : bytes_(bytes), option_(std::move(option)), whole_(whole) {}
  Budget(const Budget&) = delete;
  Budget& operator=(const Budget&) = delete;
  ~Budget() {
    if (whole_ != nullptr) whole_->give_back(used_);
  }

  Result<void> take(std::uint64_t bytes);
  void give_back(std::uint64_t bytes);

  /// What a name costs that is kept: its bytes, and what containers and the allocator add.
  static std::uint64_t cost_of(const std::string& name) { return name.size() + 96; }

 private:
  const std::uint64_t bytes_;
  const std::string option_;
  Budget* const whole_;
  std::atomic<std::uint64_t> used_{0};
};

/// What is held for as long as this lives.
class Held {
 public:
  explicit Held(Budget& budget) : budget_(budget) {}
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  ~Held() { release(); }

  Result<void> add(std::uint64_t bytes) {
    const auto taken = budget_.take(bytes);
    if (taken) bytes_ += bytes;
    return taken;
  }
  void release() { budget_.give_back(std::exchange(bytes_, 0)); }

 private:
  Budget& budget_;
  std::uint64_t bytes_ = 0;
};

}  // namespace softrnic::copy
