// The passive side once the host knows of the request: REP to RTU (IBTA 12.9.7, 12.10). Before that:
// RequestIntake.
#pragma once

#include <cstdint>

#include "base/expected.h"
#include "base/reason.h"
#include "base/time.h"
#include "cm/connection_table.h"
#include "cm/disconnects.h"
#include "cm/event.h"
#include "cm/incoming.h"
#include "cm/lifecycle.h"
#include "cm/rejects.h"
#include "cm/transmission.h"

namespace softrnic::cm {

class PassiveSide {
 public:
  /// What it works on; all outlive it.
  struct Parts {
    ConnectionTable& table;
    Lifecycle& lifecycle;
    Transmission& transmission;
    Rejects& rejects;
    Disconnects& disconnects;
  };
  PassiveSide(std::uint64_t ca_guid, const Parts& parts) : ca_guid_(ca_guid), to_(parts) {}

  /// See Manager::reply() and established().
  Expected<void, Failure> reply(Id id, const Reply& reply, TimePoint now);
  Expected<void, Failure> established(Id id, TimePoint now);

  void rtu_came(Connection& connection, const Incoming& in);
  void timed_out(Connection& connection, TimePoint now);

 private:
  /// With the event that says so. Gives up an earlier connection with the same queue pair of the peer.
  void be_established(Connection& connection, const Event& event, TimePoint now);

  std::uint64_t ca_guid_;
  Parts to_;
};

}  // namespace softrnic::cm
