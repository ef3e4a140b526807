// A completion counter: how many operations of the queue pairs that it is attached to have ended well, and
// how many badly.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "base/expected.h"
#include "base/reason.h"
#include "rnic/object.h"

namespace softrnic::rnic {

class Context;

/// Thread-safe. Its values are atomic words without a lock: queue pairs of several lanes add to it.
class CompletionCounter {
 public:
  enum class Unit : std::uint8_t { requests, bytes };

  /// ENOMEM beyond the device's limit.
  static Expected<std::unique_ptr<CompletionCounter>, Failure> create(Context& context, Unit unit);
  /// EBUSY while attached to queue pairs. Delete the object afterwards.
  Expected<void, Failure> destroy();

  /// An operation has ended. A failed one has no bytes: failures are counted by the piece.
  void ended(bool success, std::uint64_t bytes) {
    if (success) {
      // released, so that who reads the value finds the data that came with it
      completed.fetch_add(unit_ == Unit::bytes ? bytes : 1, std::memory_order_release);
    } else {
      failed.fetch_add(1, std::memory_order_release);
    }
  }

  Context& context() const { return context_; }

  std::atomic<std::uint64_t> completed{0};
  std::atomic<std::uint64_t> failed{0};
  UseCount uses;  ///< queue pairs

 private:
  CompletionCounter(Context& context, Unit unit) : context_(context), unit_(unit) {}

  Context& context_;
  const Unit unit_;
};

}  // namespace softrnic::rnic
