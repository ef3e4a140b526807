// Completion channels and completion queues.
#include "abi/verbs/completions.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <memory>

#include "abi/calls.h"
#include "abi/export.h"
#include "abi/verbs/live_objects.h"
#include "abi/verbs/open_device.h"
#include "base/reason_id.h"

namespace softrnic::abi {
namespace {

Expected<ibv_comp_channel*, Failure> create_channel(ibv_context* context) {
  if (context == nullptr) return null_argument();
  OpenDevice& opened = *Context::of(context)->opened;
  auto made = rnic::CompletionChannel::create();
  if (!made) return Unexpected{made.error()};
  auto channel = std::make_unique<Channel>();
  channel->context = context;
  channel->opened = &opened;
  channel->impl = std::move(*made);
  channel->fd = channel->impl->fd();
  return channel.release();
}

Expected<void, Failure> destroy_channel(ibv_comp_channel* verbs) {
  Channel* const channel = Channel::of(verbs);
  const auto done = channel->impl->destroy();
  if (!done) return done;
  delete channel;
  return {};
}

void count_user(ibv_comp_channel* channel, int by) {
  if (channel != nullptr) __atomic_add_fetch(&channel->refcnt, by, __ATOMIC_RELAXED);
}

Expected<void, Failure> destroy_cq(ibv_cq* verbs) {
  Cq* const cq = Cq::of(verbs);
  const auto done = cq->impl->destroy();
  if (!done) return done;
  count_user(cq->channel, -1);
  pthread_cond_destroy(&cq->cond);
  pthread_mutex_destroy(&cq->mutex);
  delete cq;
  return {};
}

}  // namespace

Expected<Cq*, Failure> make_cq(ibv_context* context, const CqRequest& request) {
  if (context == nullptr) return null_argument();
  if (auto given = check_optional(request.channel); !given) return Unexpected{given.error()};
  if (auto given = check_optional(request.parent); !given) return Unexpected{given.error()};
  OpenDevice& opened = *Context::of(context)->opened;
  auto cq = std::make_unique<Cq>();
  const rnic::CompletionQueueInit init{
      .entries = static_cast<int>(std::min<std::uint32_t>(request.entries, INT_MAX)),
      .channel = request.channel == nullptr ? nullptr : Channel::of(request.channel)->impl.get(),
      .vector = request.vector,
      .keeps_times = request.keeps_times,
      .ignores_overrun = request.ignores_overrun,
      .parent = request.parent != nullptr ? Pd::of(request.parent)->impl.get() : nullptr};
  auto made = rnic::CompletionQueue::create(opened.context(), init);
  if (!made) return Unexpected{made.error()};
  cq->context = context;
  cq->channel = request.channel;
  cq->cq_context = request.cq_context;
  cq->handle = cq->made_handle = opened.next_handle();
  cq->opened = &opened;
  cq->impl = std::move(*made);
  cq->cqe = cq->impl->capacity();
  pthread_mutex_init(&cq->mutex, nullptr);
  pthread_cond_init(&cq->cond, nullptr);
  cq->impl->owner = cq->verbs();
  count_user(request.channel, 1);
  return cq.release();
}

// The errnos are those of the kernel's call, which libibverbs makes for every adapter.
int modify_cq(ibv_cq* cq, ibv_modify_cq_attr* attributes) {
  return errno_call([&]() -> Expected<void, Failure> {
    if (auto given = check_given(cq, attributes); !given) return given;
    const std::uint32_t mask = attributes->attr_mask;
    if (mask != IBV_CQ_ATTR_MODERATE)
      return rnic::refused(mask == 0 ? EINVAL : EOPNOTSUPP, ReasonId::bad_cq_mask, mask);
    return Cq::of(cq)->impl->moderate(attributes->moderate.cq_count, attributes->moderate.cq_period);
  });
}

}  // namespace softrnic::abi

using namespace softrnic;
using namespace softrnic::abi;

SOFTRNIC_EXPORT ibv_comp_channel* ibv_create_comp_channel(ibv_context* context) {
  return pointer_call([&] { return alive(create_channel(context)); });
}

SOFTRNIC_EXPORT int ibv_destroy_comp_channel(ibv_comp_channel* channel) {
  return errno_call([&] { return end_life(channel, destroy_channel); });
}

SOFTRNIC_VERB(ibv_cq*, ibv_create_cq,
              (ibv_context * context, int entries, void* cq_context, ibv_comp_channel* channel, int vector)) {
  return pointer_call([&]() -> Expected<ibv_cq*, Failure> {
    const auto made = make_cq(context, {.entries = static_cast<std::uint32_t>(std::max(entries, 0)),
                                        .cq_context = cq_context,
                                        .channel = channel,
                                        .vector = vector});
    if (!made) return Unexpected{made.error()};
    return alive(Expected<ibv_cq*, Failure>((*made)->verbs()));
  });
}

SOFTRNIC_VERB(int, ibv_resize_cq, (ibv_cq * cq, int entries)) {
  return errno_call([&]() -> Expected<void, Failure> {
    if (auto given = check_given(cq); !given) return given;
    const auto resized = Cq::of(cq)->impl->resize(entries);
    if (!resized) return Unexpected{resized.error()};
    cq->cqe = *resized;
    return {};
  });
}

SOFTRNIC_VERB(int, ibv_destroy_cq, (ibv_cq * cq)) {
  return errno_call([&] { return end_life(cq, destroy_cq); });
}

// Waiting in vain (EAGAIN, EINTR) is no refusal and is not explained.
SOFTRNIC_VERB(int, ibv_get_cq_event, (ibv_comp_channel * channel, ibv_cq** cq, void** cq_context)) {
  if (channel == nullptr || cq == nullptr) {
    errno = null_argument().error.error;
    return -1;
  }
  const auto event = Channel::of(channel)->impl->get();
  if (!event) {
    errno = event.error();
    return -1;
  }
  *cq = static_cast<ibv_cq*>((*event)->owner);
  if (cq_context != nullptr) *cq_context = (*cq)->cq_context;
  return 0;
}

SOFTRNIC_VERB(void, ibv_ack_cq_events, (ibv_cq * cq, unsigned events)) {
  if (cq == nullptr) return;
  __atomic_add_fetch(&cq->comp_events_completed, events, __ATOMIC_RELAXED);
  Cq::of(cq)->impl->acknowledge(events);
}
