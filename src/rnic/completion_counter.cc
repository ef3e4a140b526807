#include "rnic/completion_counter.h"

#include <cerrno>

#include "base/reason_id.h"
#include "base/reason_words.h"
#include "rnic/context.h"
#include "rnic/limits.h"
#include "rnic/refusal.h"

namespace softrnic::rnic {

Expected<std::unique_ptr<CompletionCounter>, Failure> CompletionCounter::create(Context& context, Unit unit) {
  if (context.counts.counters.users() >= limits::kMaxCompletionCounters)
    return refused(ENOMEM, ReasonId::too_many_objects, limits::kMaxCompletionCounters, ObjectKind::counter);
  std::unique_ptr<CompletionCounter> counter(new CompletionCounter(context, unit));
  context.counts.counters.add();
  return counter;
}

Expected<void, Failure> CompletionCounter::destroy() {
  if (uses.users() != 0) return refused(EBUSY, ReasonId::object_busy, uses.users(), ObjectKind::counter);
  context_.counts.counters.release();
  return {};
}

}  // namespace softrnic::rnic
