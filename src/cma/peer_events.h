// What the messages of peers mean to the program: from the events of cm, once there is an id, to those of
// rdma_cm. What comes before: IncomingRequests.
#pragma once

#include "base/reason.h"
#include "base/time.h"
#include "cm/event.h"
#include "cm/manager.h"
#include "cma/id_events.h"
#include "cma/patience.h"

namespace softrnic::cma {

class PeerEvents {
 public:
  /// All outlive this object.
  PeerEvents(cm::Manager& cm, IdEvents& events, Patience& patience)
      : cm_(cm), events_(events), patience_(patience) {}

  /// Of the id's connection. Ignored when it is late for the id's state.
  void came(Id& id, const cm::Event& event, TimePoint now);

 private:
  void replied(Id& id, const cm::Event& event, TimePoint now);
  void rejected(Id& id, const cm::Event& event);
  void service_replied(Id& id, const cm::Event& event);
  void disconnected(Id& id, int status, const Reason& reason);

  cm::Manager& cm_;
  IdEvents& events_;
  Patience& patience_;
};

}  // namespace softrnic::cma
