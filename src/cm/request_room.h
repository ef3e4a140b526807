// Room for what strangers make this side remember: who is given up when there are too many (Limits).
#pragma once

#include "cm/connection_table.h"
#include "cm/host.h"
#include "cm/incoming.h"
#include "cm/lifecycle.h"
#include "cm/limits.h"

namespace softrnic::cm {

class RequestRoom {
 public:
  /// All outlive this object.
  RequestRoom(Host& host, const Limits& limits, ConnectionTable& table, Lifecycle& lifecycle)
      : host_(host), limits_(limits), table_(table), lifecycle_(lifecycle) {}

  /// For one more request of this burden: the oldest whose sender has proved nothing is given up when there
  /// are too many. False: no room.
  bool make(const Incoming& in, Burden burden);
  /// Whether there is room for what it remembers of a request that was refused.
  bool may_stay(const Connection& connection) const;

 private:
  Host& host_;
  const Limits& limits_;
  ConnectionTable& table_;
  Lifecycle& lifecycle_;
};

}  // namespace softrnic::cm
