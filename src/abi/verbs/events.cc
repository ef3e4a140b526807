// Asynchronous events.
#include <infiniband/verbs.h>

#include <cerrno>

#include "abi/calls.h"
#include "abi/export.h"
#include "abi/verbs/open_device.h"

namespace softrnic::abi {
namespace {

using Kind = rnic::EventTarget::Kind;

/// What an event of this type is about: which member of ibv_async_event's union names it.
enum class Subject { queue_pair, completion_queue, shared_receive_queue, other };

Subject subject_of(ibv_event_type type) {
  switch (type) {
    case IBV_EVENT_CQ_ERR:
      return Subject::completion_queue;
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
    case IBV_EVENT_COMM_EST:
    case IBV_EVENT_SQ_DRAINED:
    case IBV_EVENT_PATH_MIG:
    case IBV_EVENT_PATH_MIG_ERR:
    case IBV_EVENT_QP_LAST_WQE_REACHED:
      return Subject::queue_pair;
    case IBV_EVENT_SRQ_ERR:
    case IBV_EVENT_SRQ_LIMIT_REACHED:
      return Subject::shared_receive_queue;
    default:
      return Subject::other;
  }
}

void fill(ibv_async_event& out, const rnic::AsyncEvent& event) {
  out.event_type = event.type;
  switch (subject_of(event.type)) {
    case Subject::queue_pair:
      out.element.qp = static_cast<ibv_qp*>(event.target->owner);
      break;
    case Subject::completion_queue:
      out.element.cq = static_cast<ibv_cq*>(event.target->owner);
      break;
    case Subject::shared_receive_queue:
      out.element.srq = static_cast<ibv_srq*>(event.target->owner);
      break;
    case Subject::other:
      out.element.port_num = event.port;
      break;
  }
}

void acknowledge(OpenDevice& opened, ibv_event_type type, rnic::EventTarget& target) {
  opened.context().events().acknowledge({type, &target, 0});
}

}  // namespace
}  // namespace softrnic::abi

using namespace softrnic;
using namespace softrnic::abi;

SOFTRNIC_VERB(int, ibv_get_async_event, (ibv_context * context, ibv_async_event* event)) {
  if (context == nullptr || event == nullptr) {
    errno = null_argument().error.error;
    return -1;
  }
  const auto got = Context::of(context)->opened->context().events().get();
  if (!got) {
    errno = got.error();
    return -1;
  }
  fill(*event, *got);
  return 0;
}

SOFTRNIC_VERB(void, ibv_ack_async_event, (ibv_async_event * event)) {
  if (event == nullptr) return;
  switch (subject_of(event->event_type)) {
    case Subject::queue_pair:
      return acknowledge(*Qp::of(event->element.qp)->opened, event->event_type,
                         *Qp::of(event->element.qp)->impl);
    case Subject::completion_queue:
      return acknowledge(*Cq::of(event->element.cq)->opened, event->event_type,
                         *Cq::of(event->element.cq)->impl);
    case Subject::shared_receive_queue:
      return acknowledge(*Srq::of(event->element.srq)->opened, event->event_type,
                         *Srq::of(event->element.srq)->impl);
    case Subject::other:
      return;
  }
}
