// The end of a connection: DREQ and DREP, and connections that the peer has forgotten (stale).
#pragma once

#include <cstdint>

#include "base/expected.h"
#include "base/reason.h"
#include "base/time.h"
#include "cm/host.h"
#include "cm/incoming.h"
#include "cm/lifecycle.h"
#include "cm/stateless_answers.h"
#include "cm/transmission.h"

namespace softrnic::cm {

class Disconnects {
 public:
  /// All outlive this object.
  Disconnects(Host& host, Lifecycle& lifecycle, Transmission& transmission, StatelessAnswers& stateless)
      : host_(host), lifecycle_(lifecycle), transmission_(transmission), stateless_(stateless) {}

  /// See Manager::disconnect() and disconnect_reply().
  Expected<void, Failure> disconnect(Id id, Bytes private_data, TimePoint now);
  Expected<void, Failure> reply(Id id, Bytes private_data, TimePoint now);
  /// A DREQ, again until it is answered; the connection is in dreq_sent then.
  void send_dreq(Connection& connection, Bytes private_data, TimePoint now);
  /// The connection is in timewait then.
  void send_drep(Connection& connection, std::uint64_t transaction, Bytes private_data, TimePoint now);

  void dreq_came(Connection& connection, const Incoming& in);
  /// Both sides have asked.
  void dreq_crossed(Connection& connection, const Incoming& in);
  /// It is over.
  void dreq_late(Connection& connection, const Incoming& in);
  void drep_came(Connection& connection, const Incoming& in);
  void timed_out(Connection& connection, TimePoint now);
  /// The peer has begun anew with the same queue pair.
  void give_up_stale(Connection& connection, Message because_of, TimePoint now);
  /// A LAP: alternate paths are for the living.
  void lap_came(Connection& connection, const Incoming& in);

 private:
  Host& host_;
  Lifecycle& lifecycle_;
  Transmission& transmission_;
  StatelessAnswers& stateless_;
};

}  // namespace softrnic::cm
