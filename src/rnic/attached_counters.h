// The completion counters that a queue pair is attached to, by what they count. Memory for them is taken with
// the first: nearly no queue pair has any.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "transport/ib/types.h"

namespace softrnic::rnic {

class CompletionCounter;

class AttachedCounters {
 public:
  /// `counter` counts `operations` (bits of ib::Counted) from now on, none of which is counted yet. It is in
  /// use until release().
  void attach(CompletionCounter& counter, std::uint8_t operations);
  /// An operation that is counted has ended.
  void ended(ib::Counted operation, bool success, std::uint64_t bytes);
  /// Nothing is counted any more.
  void release();

 private:
  using ByOperation = std::array<CompletionCounter*, static_cast<std::size_t>(ib::Counted::count_)>;
  std::unique_ptr<ByOperation> counters_;
};

}  // namespace softrnic::rnic
