// The active side: REQ to RTU (IBTA 12.9.7, 12.10).
#pragma once

#include <cstdint>

#include "base/expected.h"
#include "base/reason.h"
#include "base/time.h"
#include "cm/connection_table.h"
#include "cm/disconnects.h"
#include "cm/host.h"
#include "cm/incoming.h"
#include "cm/lifecycle.h"
#include "cm/rejects.h"
#include "cm/transmission.h"

namespace softrnic::cm {

class ActiveSide {
 public:
  /// What it works on; all outlive it.
  struct Parts {
    Host& host;
    ConnectionTable& table;
    Lifecycle& lifecycle;
    Transmission& transmission;
    Rejects& rejects;
    Disconnects& disconnects;
  };
  ActiveSide(std::uint64_t ca_guid, const Parts& parts) : ca_guid_(ca_guid), to_(parts) {}

  /// See Manager::connect() and confirm().
  Expected<Id, Failure> connect(const Request& request, TimePoint now);
  Expected<void, Failure> confirm(Id id, Bytes private_data, TimePoint now);

  /// False: it bears the ID of another connection of the peer's.
  bool rep_came(Connection& connection, const Incoming& in);
  void timed_out(Connection& connection, TimePoint now);

 private:
  std::uint64_t ca_guid_;
  Parts to_;
};

}  // namespace softrnic::cm
