#include "rnic/indirection_table.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>

#include "base/reason_id.h"
#include "base/reason_words.h"
#include "rnic/context.h"
#include "rnic/refusal.h"

namespace softrnic::rnic {
namespace {

std::uint32_t next_number() {
  static std::atomic<std::uint32_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace

IndirectionTable::IndirectionTable(Context& context, std::span<WorkQueue* const> queues)
    : context_(context), number_(next_number()), queues_(queues.begin(), queues.end()) {}

Expected<std::unique_ptr<IndirectionTable>, Failure> IndirectionTable::create(
    Context& context, std::span<WorkQueue* const> queues) {
  if (context.has_streams())
    return refused(EOPNOTSUPP, ReasonId::iwarp_no_object, ObjectKind::indirection_table);
  const bool ours = std::all_of(queues.begin(), queues.end(), [&](const WorkQueue* queue) {
    return queue != nullptr && &queue->context() == &context;
  });
  if (!ours || !std::has_single_bit(queues.size()) || queues.size() > std::size_t{1} << kMaxLogSize)
    return refused(EINVAL, ReasonId::indirection_table, std::bit_width(queues.size()) - 1, 0, kMaxLogSize);
  std::unique_ptr<IndirectionTable> table(new IndirectionTable(context, queues));
  for (WorkQueue* queue : table->queues_) queue->uses.add();
  return table;
}

std::size_t IndirectionTable::room_for_frames() const {
  std::size_t least = SIZE_MAX;
  for (const WorkQueue* queue : queues_) least = std::min(least, queue->room_for_frames());
  return least;
}

Expected<void, Failure> IndirectionTable::destroy() {
  if (uses.users() != 0) return refused(EBUSY, ReasonId::indirection_table_in_use, uses.users());
  for (WorkQueue* queue : queues_) queue->uses.release();
  return {};
}

}  // namespace softrnic::rnic
