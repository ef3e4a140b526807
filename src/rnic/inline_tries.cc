#include "rnic/inline_tries.h"

#include <atomic>
#include <cerrno>
#include <cstdlib>

#include "base/reason_id.h"
#include "base/reason_words.h"
#include "rnic/limits.h"
#include "rnic/refusal.h"

namespace softrnic::rnic {
namespace {

/// What was refused last, and is not explained yet; 0: nothing. Of the process.
constinit std::atomic<std::uint32_t> held{0};

Failure too_much(std::uint32_t asked) {
  return refuse(EINVAL, ReasonId::bad_cap, asked, limits::kMaxInlineBytes, CapField::max_inline_data);
}

}  // namespace

Unexpected<Failure> refuse_inline(std::uint32_t asked) {
  static const bool told_at_exit = std::atexit(tell_inline_tries) == 0;
  const bool insists = held.exchange(asked) == asked;
  if (!insists && told_at_exit) return Unexpected{too_much(asked)};
  held.store(0);
  return refused(too_much(asked));
}

void queue_pair_was_made() { held.store(0, std::memory_order_relaxed); }

void tell_inline_tries() {
  if (const std::uint32_t asked = held.exchange(0); asked != 0) static_cast<void>(refused(too_much(asked)));
}

}  // namespace softrnic::rnic
