// Service ID resolution: which queue pair of unreliable datagrams is behind a service ID (SIDR, IBTA 12.11).
// Both sides.
#pragma once

#include "base/expected.h"
#include "base/reason.h"
#include "base/time.h"
#include "cm/connection_table.h"
#include "cm/host.h"
#include "cm/incoming.h"
#include "cm/lifecycle.h"
#include "cm/listeners.h"
#include "cm/request_room.h"
#include "cm/transmission.h"

namespace softrnic::cm {

class ServiceIdResolution {
 public:
  /// What it works on; all outlive it.
  struct Parts {
    Host& host;
    const Listeners& listeners;
    ConnectionTable& table;
    Lifecycle& lifecycle;
    Transmission& transmission;
    RequestRoom& room;
  };
  explicit ServiceIdResolution(const Parts& parts) : to_(parts) {}

  // ---- who asks
  Expected<Id, Failure> ask(const SidrRequest& request, TimePoint now);
  void reply_came(Connection& connection, const Incoming& in);
  void timed_out(Connection& connection);

  // ---- who is asked
  /// A SIDR_REQ that is not known.
  void request_came(const Incoming& in);
  Expected<void, Failure> answer(Id id, const SidrReply& reply, TimePoint now);
  /// Nobody will answer any more.
  void refuse(Connection& connection, TimePoint now);

 private:
  void send_rep(Connection& connection, const SidrReply& reply, TimePoint now);

  Parts to_;
};

}  // namespace softrnic::cm
