// REQs that no connection knows: refused, told to the host, or held until their sender gives a sign of life
// (HeldRequests).
#pragma once

#include <optional>

#include "base/time.h"
#include "cm/connection_table.h"
#include "cm/held_requests.h"
#include "cm/host.h"
#include "cm/incoming.h"
#include "cm/lifecycle.h"
#include "cm/listeners.h"
#include "cm/request_room.h"
#include "cm/stateless_answers.h"

namespace softrnic::cm {

class RequestIntake {
 public:
  /// What it works on; all outlive it.
  struct Parts {
    Host& host;
    const Listeners& listeners;
    ConnectionTable& table;
    Lifecycle& lifecycle;
    RequestRoom& room;
    HeldRequests& held;
    StatelessAnswers& stateless;
  };
  explicit RequestIntake(const Parts& parts) : to_(parts) {}

  void came(const Incoming& in);
  /// A repetition of one that the host has not answered, or not heard of.
  void repeated(Connection& connection, const Incoming& in);
  /// A DREP: the host is told of one that is held.
  void sign_of_life(Connection& connection, const Incoming& in);

 private:
  std::optional<RejectReason> refusal_of(const Req& req, const Incoming& in);
  Connection& add(Id id, const Req& req, const Incoming& in);
  /// nullptr: there is no room for one more of this burden.
  Connection* admit(const Req& req, const Incoming& in, Burden burden);
  void tell(const Connection& connection, const Incoming& in);
  void tell_held(Connection& connection, TimePoint now);

  Parts to_;
};

}  // namespace softrnic::cm
