// The affiliated asynchronous events of a queue pair (IBTA 11.6.3.1): which of what befalls it the program is
// told, and what it is told once only.
#pragma once

#include <utility>

#include "rnic/async_events.h"
#include "rnic/object.h"
#include "transport/ib/types.h"

namespace softrnic::rnic {

class QpEvents {
 public:
  /// `has_srq`: it was given an SRQ, and the program may ask when it may take the QP off it.
  QpEvents(AsyncEventQueue& queue, EventTarget& target, bool has_srq)
      : queue_(queue), target_(target), has_srq_(has_srq) {}
  QpEvents(const QpEvents&) = delete;
  QpEvents& operator=(const QpEvents&) = delete;

  void raise(ib::QpEvent event);
  /// IBV_EVENT_COMM_EST was raised: no packet raises it again.
  bool established() const { return established_; }

  /// Whether the end of the drain that begins is told (en_sqd_async_notify).
  void notify_drained(bool wanted) { notify_drained_ = wanted; }
  bool notifies_drained() const { return notify_drained_; }

  /// RESET: all of it may happen again.
  void reset() { established_ = notify_drained_ = last_wqe_raised_ = false; }

 private:
  bool is_told(ib::QpEvent event);

  AsyncEventQueue& queue_;
  EventTarget& target_;
  const bool has_srq_;
  bool established_ = false;
  bool notify_drained_ = false;
  bool last_wqe_raised_ = false;
};

}  // namespace softrnic::rnic
