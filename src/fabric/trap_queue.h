// The traps of an endport: one at a time, again and again until its manager has heard it (IBTA 13.4.9,
// 14.2.5.1, 14.3.1).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "base/time.h"
#include "mad/notice.h"

namespace softrnic::fabric {

struct PendingTrap {
  mad::Notice notice;
  std::uint64_t transaction = 0;  ///< the same each time that it is repeated
};

class TrapQueue {
 public:
  static constexpr std::size_t kCapacity = 16;

  bool empty() const { return waiting_.empty(); }
  std::size_t size() const { return waiting_.size(); }
  /// One that waits unsent already is not put in twice. False: it is, or there is no room; a manager that has
  /// so much to hear looks at everything anyway.
  bool push(const mad::Notice& notice, std::uint64_t transaction);
  /// The trap to be sent now; then there is none for `interval`, which a manager may take to answer, and more
  /// often than that no port may send.
  std::optional<PendingTrap> take_due(TimePoint now, Duration interval);
  /// The manager has heard the one of this transaction. False: that one is not under way.
  bool repress(std::uint64_t transaction);
  /// When take_due() has something; kNever without any.
  TimePoint next_deadline() const { return empty() ? kNever : not_before_; }

 private:
  std::deque<PendingTrap> waiting_;
  bool first_is_sent_ = false;
  TimePoint not_before_{};
};

}  // namespace softrnic::fabric
