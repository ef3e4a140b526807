// MADs that come in: which connection one is about, and what it does to it, by one table of state × message.
#pragma once

#include "base/bytes.h"
#include "base/time.h"
#include "cm/active_side.h"
#include "cm/connection_table.h"
#include "cm/disconnects.h"
#include "cm/host.h"
#include "cm/incoming.h"
#include "cm/lifecycle.h"
#include "cm/mra.h"
#include "cm/passive_side.h"
#include "cm/rejects.h"
#include "cm/request_intake.h"
#include "cm/service_id_resolution.h"
#include "cm/stateless_answers.h"
#include "cm/transmission.h"

namespace softrnic::cm {

class Dispatcher {
 public:
  /// Whom it hands MADs to; all outlive it.
  struct Parts {
    Host& host;
    ConnectionTable& table;
    Lifecycle& lifecycle;
    Transmission& transmission;
    StatelessAnswers& stateless;
    RequestIntake& intake;
    ActiveSide& active;
    PassiveSide& passive;
    MraExchange& mra;
    Rejects& rejects;
    Disconnects& disconnects;
    ServiceIdResolution& service_ids;
  };
  explicit Dispatcher(const Parts& parts) : to_(parts) {}

  /// See Manager::receive().
  void receive(const mad::Address& from, Bytes mad, TimePoint now);

 private:
  void dispatch(const Incoming& in, Message message);
  Connection* target_of(const Incoming& in, Message message);
  Connection* repeated_request(const Incoming& in, Message message);

  Parts to_;
};

}  // namespace softrnic::cm
