// REJ: this side's, the peer's, and those that are said again.
#pragma once

#include <cstdint>

#include "base/expected.h"
#include "base/reason.h"
#include "base/time.h"
#include "cm/incoming.h"
#include "cm/lifecycle.h"
#include "cm/stateless_answers.h"
#include "cm/transmission.h"

namespace softrnic::cm {

class Rejects {
 public:
  /// All outlive this object.
  Rejects(std::uint64_t ca_guid, Lifecycle& lifecycle, Transmission& transmission,
          StatelessAnswers& stateless)
      : ca_guid_(ca_guid), lifecycle_(lifecycle), transmission_(transmission), stateless_(stateless) {}

  /// See Manager::reject().
  Expected<void, Failure> reject(Id id, const Rejection& rejection, TimePoint now);
  /// The REJ alone: about the message that the state says. It ends nothing.
  void send(Connection& connection, const Rejection& rejection);
  /// The same for a peer that did not answer in time.
  void send_timeout(Connection& connection);

  /// The peer's.
  void came(Connection& connection, const Incoming& in);
  /// A REQ, REP or RTU of an attempt that this side refused: says so again.
  void say_again(Connection& connection, const Incoming& in);

 private:
  std::uint64_t ca_guid_;
  Lifecycle& lifecycle_;
  Transmission& transmission_;
  StatelessAnswers& stateless_;
};

}  // namespace softrnic::cm
