// Completion counters.
#include <cerrno>
#include <cstring>
#include <limits>
#include <memory>

#include "abi/calls.h"
#include "abi/export.h"
#include "abi/verbs/live_objects.h"
#include "abi/verbs/newer_verbs.h"
#include "abi/verbs/open_device.h"
#include "base/reason_id.h"
#include "rnic/limits.h"

namespace softrnic::abi {
namespace {

using Value = std::atomic<std::uint64_t> rnic::CompletionCounter::*;
constexpr Value kCompleted = &rnic::CompletionCounter::completed;
constexpr Value kFailed = &rnic::CompletionCounter::failed;

constexpr std::uint32_t kOperations = (1U << static_cast<unsigned>(ib::Counted::count_)) - 1;

Expected<void, Failure> query_caps(const ibv_context* context, void* out, std::size_t size) {
  const CompCntrCaps caps{.max_value = std::numeric_limits<std::uint64_t>::max(),
                          .max_counters = rnic::limits::kMaxCompletionCounters,
                          .supported_qp_attach_ops = kOperations};
  if (context == nullptr || out == nullptr) return null_argument();
  if (size < sizeof caps) return rnic::refused(EINVAL, ReasonId::bad_length, size, sizeof caps);
  std::memset(out, 0, size);
  std::memcpy(out, &caps, sizeof caps);
  return {};
}

Expected<CompCntr*, Failure> create(ibv_context* context, const CompCntrInitAttr* wanted) {
  if (context == nullptr || wanted == nullptr) return null_argument();
  const bool known = wanted->type == CompCntrType::wrs || wanted->type == CompCntrType::bytes;
  if (!known || wanted->comp_mask != 0 || wanted->flags != 0)
    return rnic::refused(EOPNOTSUPP, ReasonId::bad_counter_attributes, wanted->comp_mask, wanted->type,
                         wanted->flags);
  OpenDevice& opened = *Context::of(context)->opened;
  auto counter = std::make_unique<Counter>();
  using Unit = rnic::CompletionCounter::Unit;
  const Unit unit = wanted->type == CompCntrType::bytes ? Unit::bytes : Unit::requests;
  auto made = rnic::CompletionCounter::create(opened.context(), unit);
  if (!made) return Unexpected{made.error()};
  counter->impl = std::move(*made);
  counter->context = context;
  counter->handle = opened.next_handle();
  return counter.release();
}

Expected<void, Failure> destroy_counter(CompCntr* verbs) {
  Counter* const counter = Counter::of(verbs);
  const auto done = counter->impl->destroy();
  if (!done) return done;
  delete counter;
  return {};
}

Expected<void, Failure> attach(ibv_qp* qp, CompCntr* counter, const QpAttachCompCntrAttr* wanted) {
  if (auto given = check_given(qp, counter, wanted); !given) return given;
  const std::uint32_t mask = wanted->op_mask;
  if (wanted->comp_mask != 0 || mask == 0)
    return rnic::refused(EINVAL, ReasonId::bad_counted_operations, wanted->comp_mask, mask);
  if ((mask & ~kOperations) != 0)
    return rnic::refused(EOPNOTSUPP, ReasonId::bad_counted_operations, wanted->comp_mask, mask);
  return Qp::of(qp)->impl->attach_counter(*Counter::of(counter)->impl, static_cast<std::uint8_t>(mask));
}

int set(CompCntr* counter, Value value, std::uint64_t to) {
  return errno_call([&]() -> Expected<void, Failure> {
    if (auto given = check_given(counter); !given) return given;
    (*Counter::of(counter)->impl.*value).store(to, std::memory_order_release);
    return {};
  });
}

int increment(CompCntr* counter, Value value, std::uint64_t by) {
  return errno_call([&]() -> Expected<void, Failure> {
    if (auto given = check_given(counter); !given) return given;
    (*Counter::of(counter)->impl.*value).fetch_add(by, std::memory_order_release);
    return {};
  });
}

int read(CompCntr* counter, Value value, std::uint64_t* out) {
  return errno_call([&]() -> Expected<void, Failure> {
    if (auto given = check_given(counter, out); !given) return given;
    *out = (*Counter::of(counter)->impl.*value).load(std::memory_order_acquire);
    return {};
  });
}

}  // namespace
}  // namespace softrnic::abi

using namespace softrnic;
using namespace softrnic::abi;

SOFTRNIC_VERSIONED(int, _ibv_query_comp_cntr_caps, "IBVERBS_1.18",
                   (ibv_context * context, CompCntrCaps* caps, std::size_t size)) {
  return errno_call([&] { return query_caps(context, caps, size); });
}

SOFTRNIC_VERSIONED(CompCntr*, ibv_create_comp_cntr, "IBVERBS_1.18",
                   (ibv_context * context, CompCntrInitAttr* wanted)) {
  return pointer_call([&] { return alive(create(context, wanted)); });
}

SOFTRNIC_VERSIONED(int, ibv_destroy_comp_cntr, "IBVERBS_1.18", (CompCntr * counter)) {
  return errno_call([&] { return end_life(counter, destroy_counter); });
}

SOFTRNIC_VERSIONED(int, ibv_qp_attach_comp_cntr, "IBVERBS_1.18",
                   (ibv_qp * qp, CompCntr* counter, QpAttachCompCntrAttr* wanted)) {
  return errno_call([&] { return attach(qp, counter, wanted); });
}

SOFTRNIC_VERSIONED(int, ibv_set_comp_cntr, "IBVERBS_1.18", (CompCntr * counter, uint64_t value)) {
  return set(counter, kCompleted, value);
}

SOFTRNIC_VERSIONED(int, ibv_set_err_comp_cntr, "IBVERBS_1.18", (CompCntr * counter, uint64_t value)) {
  return set(counter, kFailed, value);
}

SOFTRNIC_VERSIONED(int, ibv_inc_comp_cntr, "IBVERBS_1.18", (CompCntr * counter, uint64_t amount)) {
  return increment(counter, kCompleted, amount);
}

SOFTRNIC_VERSIONED(int, ibv_inc_err_comp_cntr, "IBVERBS_1.18", (CompCntr * counter, uint64_t amount)) {
  return increment(counter, kFailed, amount);
}

SOFTRNIC_VERSIONED(int, ibv_read_comp_cntr, "IBVERBS_1.18", (CompCntr * counter, uint64_t* value)) {
  return read(counter, kCompleted, value);
}

SOFTRNIC_VERSIONED(int, ibv_read_err_comp_cntr, "IBVERBS_1.18", (CompCntr * counter, uint64_t* value)) {
  return read(counter, kFailed, value);
}
