#include "rnic/qp_events.h"

namespace softrnic::rnic {
namespace {

/// In the order of ib::QpEvent.
constexpr ibv_event_type kEvents[] = {
    IBV_EVENT_COMM_EST,      IBV_EVENT_QP_FATAL,     IBV_EVENT_QP_REQ_ERR,
    IBV_EVENT_QP_ACCESS_ERR, IBV_EVENT_SQ_DRAINED,   IBV_EVENT_QP_LAST_WQE_REACHED,
    IBV_EVENT_PATH_MIG,      IBV_EVENT_PATH_MIG_ERR,
};

}  // namespace

// IBTA 11.6.3.1: the program may take a QP off an SRQ once the last WQE event has come.
bool QpEvents::is_told(ib::QpEvent event) {
  if (event == ib::QpEvent::send_queue_drained) return std::exchange(notify_drained_, false);
  if (event == ib::QpEvent::last_wqe_reached) return has_srq_ && !std::exchange(last_wqe_raised_, true);
  return true;
}

void QpEvents::raise(ib::QpEvent event) {
  if (!is_told(event)) return;
  queue_.raise(kEvents[static_cast<std::size_t>(event)], target_);
  if (event == ib::QpEvent::communication_established) established_ = true;
}

}  // namespace softrnic::rnic
