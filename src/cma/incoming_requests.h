// The passive side until the program hears of a request: a request is handed to its listener as a new id,
// waits a moment for one that may come (EarlyRequests), or is refused.
#pragma once

#include <cstdint>

#include "base/time.h"
#include "cm/event.h"
#include "cm/manager.h"
#include "cma/bound_ports.h"
#include "cma/device_table.h"
#include "cma/early_requests.h"
#include "cma/host.h"
#include "cma/id_events.h"
#include "cma/id_table.h"
#include "cma/patience.h"
#include "cma/request.h"

namespace softrnic::cma {

/// Requests that may wait for the program at one listener.
std::uint32_t backlog_for(int wanted);

class IncomingRequests {
 public:
  /// What it works on; all outlive it.
  struct Parts {
    Host& host;
    cm::Manager& cm;
    const DeviceTable& devices;
    IdTable& ids;
    IdEvents& events;
    BoundPorts& ports;
    Patience& patience;
  };
  explicit IncomingRequests(const Parts& parts) : to_(parts) {}

  void came(const cm::Event& request);
  /// Its peer has given up, and no id has been made for it yet.
  void gave_up(cm::Id connection);
  /// Those that waited for such a listener are handed to it.
  void listener_came();
  /// `id` ends, or listens no more: refuses those that waited for its port, unless somebody else may
  /// hear them. Before BoundPorts::unattend(), which ends what cm knows of them.
  void listener_goes(const Id& id);
  /// Refuses those that have waited long enough.
  void advance(TimePoint now);
  TimePoint deadline() const { return early_.deadline(); }

 private:
  void admit(Id& listener, const cm::Event& request);
  void make_id(Id& listener, const cm::Event& request);
  bool wait_for_listener(const cm::Event& request);
  void refuse_waiting(const EarlyRequests::Chosen& chosen);
  void refuse_unheard(const cm::Event& request);
  void turn_away(const cm::Event& request, const Refusal& refusal);

  Parts to_;
  EarlyRequests early_;
};

}  // namespace softrnic::cma
