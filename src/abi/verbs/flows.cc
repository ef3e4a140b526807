#include "abi/verbs/flows.h"

#include <cerrno>
#include <cstring>
#include <memory>

#include "abi/calls.h"
#include "abi/verbs/live_objects.h"
#include "abi/verbs/open_device.h"
#include "base/reason_id.h"
#include "rnic/flow_attributes.h"

namespace softrnic::abi {
namespace {

// ---- flows

Expected<ibv_flow*, Failure> make_flow(ibv_qp* qp, const ibv_flow_attr* attributes) {
  if (auto given = check_given(qp, attributes); !given) return Unexpected{given.error()};
  const auto request = rnic::flow_request(*attributes);
  if (!request) return rnic::refused(request.error(), {.qpn = qp->qp_num});
  if (auto given = check_optional(request->counters); !given) return Unexpected{given.error()};
  rnic::FlowCounters* const counters =
      request->counters != nullptr ? FlowCountersHandle::of(request->counters)->impl.get() : nullptr;
  if (counters != nullptr && &counters->context() != &Qp::of(qp)->impl->context())
    return rnic::refused(EINVAL, ReasonId::foreign_counter);
  auto flow = std::make_unique<FlowHandle>();
  auto made = rnic::Flow::create(*Qp::of(qp)->impl, request->rule, counters);
  if (!made) return Unexpected{made.error()};
  flow->impl = std::move(*made);
  flow->context = qp->context;
  flow->handle = Qp::of(qp)->opened->next_handle();
  return flow.release();
}

ibv_flow* create_flow(ibv_qp* qp, ibv_flow_attr* attributes) {
  return pointer_call([&] { return alive(make_flow(qp, attributes)); });
}

Expected<void, Failure> end_flow(ibv_flow* verbs) {
  FlowHandle* const flow = FlowHandle::of(verbs);
  flow->impl->destroy();
  delete flow;
  return {};
}

int destroy_flow(ibv_flow* flow) {
  return errno_call([&] { return end_life(flow, end_flow); });
}

// ---- counters

Expected<ibv_counters*, Failure> make_counters(ibv_context* context, const ibv_counters_init_attr* wanted) {
  if (context == nullptr || wanted == nullptr) return null_argument();
  if (wanted->comp_mask != 0) return rnic::refused(EINVAL, ReasonId::bad_comp_mask, wanted->comp_mask);
  auto counters = std::make_unique<FlowCountersHandle>();
  counters->impl = std::make_unique<rnic::FlowCounters>(Context::of(context)->opened->context());
  counters->context = context;
  return counters.release();
}

ibv_counters* create_counters(ibv_context* context, ibv_counters_init_attr* wanted) {
  return pointer_call([&] { return alive(make_counters(context, wanted)); });
}

Expected<void, Failure> end_counters(ibv_counters* verbs) {
  FlowCountersHandle* const counters = FlowCountersHandle::of(verbs);
  const auto done = counters->impl->destroy();
  if (done) delete counters;
  return done;
}

int destroy_counters(ibv_counters* counters) {
  return errno_call([&] { return end_life(counters, end_counters); });
}

// To a flow that is there nothing can be attached; so answer adapters.
int attach_counters_point_flow(ibv_counters* counters, ibv_counter_attach_attr* wanted, ibv_flow* flow) {
  return errno_call([&]() -> Expected<void, Failure> {
    if (auto given = check_given(counters, wanted); !given) return given;
    if (wanted->comp_mask != 0) return rnic::refused(EINVAL, ReasonId::bad_comp_mask, wanted->comp_mask);
    std::uint32_t what = 0;  // a program may have put any number there
    std::memcpy(&what, &wanted->counter_desc, sizeof what);
    if (flow != nullptr) return rnic::refused(EOPNOTSUPP, ReasonId::counter_description, what);
    return FlowCountersHandle::of(counters)->impl->attach_point(what, wanted->index);
  });
}

int read_counters(ibv_counters* counters, std::uint64_t* values, std::uint32_t count, std::uint32_t flags) {
  return errno_call([&]() -> Expected<void, Failure> {
    if (values == nullptr && count != 0) return null_argument();
    if (auto given = check_given(counters); !given) return given;
    if ((flags & ~static_cast<std::uint32_t>(IBV_READ_COUNTERS_ATTR_PREFER_CACHED)) != 0)
      return rnic::refused(EINVAL, ReasonId::bad_comp_mask, flags);
    return FlowCountersHandle::of(counters)->impl->read({values, count});
  });
}

}  // namespace

void fill_flow_operations(verbs_context& verbs) {
  verbs.ibv_create_flow = create_flow;
  verbs.ibv_destroy_flow = destroy_flow;
  // Where programs built with libibverbs 1.1.8 look for the two flow calls.
  verbs.ABI_placeholder1 = reinterpret_cast<void (*)()>(verbs.ibv_create_flow);
  verbs.ABI_placeholder2 = reinterpret_cast<void (*)()>(verbs.ibv_destroy_flow);
  verbs.create_counters = create_counters;
  verbs.destroy_counters = destroy_counters;
  verbs.attach_counters_point_flow = attach_counters_point_flow;
  verbs.read_counters = read_counters;
}

}  // namespace softrnic::abi
