// MRA: a side asks the other for more time to answer.
#pragma once

#include <cstdint>

#include "base/expected.h"
#include "base/reason.h"
#include "cm/connection_table.h"
#include "cm/incoming.h"
#include "cm/lifecycle.h"
#include "cm/transmission.h"

namespace softrnic::cm {

class MraExchange {
 public:
  /// All outlive this object.
  MraExchange(ConnectionTable& table, Lifecycle& lifecycle, Transmission& transmission)
      : table_(table), lifecycle_(lifecycle), transmission_(transmission) {}

  /// See Manager::delay().
  Expected<void, Failure> ask(Id id, std::uint8_t service_timeout, Bytes private_data);
  /// The peer's. False: it is about a message that this side has not sent.
  bool came(Connection& connection, const Incoming& in);

 private:
  ConnectionTable& table_;
  Lifecycle& lifecycle_;
  Transmission& transmission_;
};

}  // namespace softrnic::cm
