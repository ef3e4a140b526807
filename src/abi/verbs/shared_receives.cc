// Shared receive queues.
#include <infiniband/verbs.h>

#include <cerrno>
#include <memory>

#include "abi/calls.h"
#include "abi/export.h"
#include "abi/verbs/live_objects.h"
#include "abi/verbs/open_device.h"

namespace softrnic::abi {
namespace {

Expected<ibv_srq*, Failure> create(ibv_pd* pd, ibv_srq_init_attr* attributes) {
  if (pd == nullptr || attributes == nullptr) return null_argument();
  auto srq = std::make_unique<Srq>();
  auto made = rnic::SharedReceiveQueue::create(*Pd::of(pd)->impl, attributes->attr);
  if (!made) return Unexpected{made.error()};
  srq->context = pd->context;
  srq->srq_context = attributes->srq_context;
  srq->pd = pd;
  srq->opened = Pd::of(pd)->opened;
  srq->handle = srq->opened->next_handle();
  srq->impl = std::move(*made);
  pthread_mutex_init(&srq->mutex, nullptr);
  pthread_cond_init(&srq->cond, nullptr);
  srq->impl->owner = static_cast<ibv_srq*>(srq.get());
  return srq.release();
}

Expected<void, Failure> destroy(ibv_srq* verbs) {
  Srq* const srq = Srq::of(verbs);
  const auto done = srq->impl->destroy();
  if (!done) return done;
  pthread_cond_destroy(&srq->cond);
  pthread_mutex_destroy(&srq->mutex);
  delete srq;
  return {};
}

}  // namespace
}  // namespace softrnic::abi

using namespace softrnic;
using namespace softrnic::abi;

SOFTRNIC_VERB(ibv_srq*, ibv_create_srq, (ibv_pd * pd, ibv_srq_init_attr* attributes)) {
  return pointer_call([&] { return alive(ObjectKind::srq, create(pd, attributes)); });
}

SOFTRNIC_VERB(int, ibv_modify_srq, (ibv_srq * srq, ibv_srq_attr* attributes, int mask)) {
  return errno_call([&]() -> Expected<void, Failure> {
    if (srq == nullptr || attributes == nullptr) return null_argument();
    return Srq::of(srq)->impl->modify(*attributes, mask);
  });
}

SOFTRNIC_VERB(int, ibv_query_srq, (ibv_srq * srq, ibv_srq_attr* attributes)) {
  return errno_call([&]() -> Expected<void, Failure> {
    if (srq == nullptr || attributes == nullptr) return null_argument();
    *attributes = Srq::of(srq)->impl->query();
    return {};
  });
}

SOFTRNIC_VERB(int, ibv_destroy_srq, (ibv_srq * srq)) {
  return errno_call([&] { return end_life(ObjectKind::srq, srq, destroy); });
}
