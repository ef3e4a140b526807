// Requests beyond what strangers may make the host do: their senders are asked first whether they are there.
//
// A REQ proves nothing, and to take one costs a program a queue pair, often a thread. Behind ten thousand
// forged ones a second an honest one would wait for seconds, or be given up as the oldest. CM has no message
// that only the sender of a REQ answers. But whoever has a CM answers a DREQ for a connection that it does
// not know with a DREP that repeats both IDs (Linux' ib_cm and this one do), and to do so it has to receive
// what goes to its address. So a stranger's request is kept from the host until such a DREP has come, and
// waits for one round trip, not behind the forged ones.
//
// Who does not answer is told as soon as the allowance has room when it repeats its REQ. A DREP does not
// prove that the REQ was its sender's own (Connection::proven), so all bounds for the unproven hold on. Of
// one address few are asked at a time, and an answer lets the next be asked.
#pragma once

#include <cstdint>

#include "base/time.h"
#include "cm/allowance.h"
#include "cm/connection_table.h"
#include "cm/incoming.h"
#include "cm/lifecycle.h"
#include "cm/limits.h"
#include "cm/transmission.h"

namespace softrnic::cm {

class HeldRequests {
 public:
  /// All outlive this object.
  HeldRequests(const Limits& limits, ConnectionTable& table, Lifecycle& lifecycle, Transmission& transmission)
      : limits_(limits),
        table_(table),
        lifecycle_(lifecycle),
        transmission_(transmission),
        strangers_(limits.strangers, limits.strangers_a_second) {}

  /// What a request from there that no connection knows is: one that the host may be told of
  /// (Burden::half_open), which uses up the allowance, or to be held, asked or not.
  Burden burden_of_next(const wire::Gid& peer, TimePoint now);
  /// Keeps it from the host, and asks its sender for a sign of life, now (Burden::asked) or when others were
  /// answered.
  void hold(Connection& connection, const Incoming& in, Burden burden);
  /// The REQ came again. True: it is held, and the host may be told of it now.
  bool repeated(Connection& connection, TimePoint now);

  struct Released {
    mad::Mad mad{};  ///< the REQ
    mad::Address peer;
    std::uint32_t datagrams_in = 0, datagrams_out = 0;
  };
  /// Ends the connection of one that is held: the host is told under an ID of its own, as that of the
  /// question may come to the peer late, when it would mean the end of a connection.
  Released release(Connection& connection);
  /// One of the peer's was answered: the next is asked.
  void ask_next(const wire::Gid& peer);

 private:
  void ask(Connection& connection);

  const Limits& limits_;
  ConnectionTable& table_;
  Lifecycle& lifecycle_;
  Transmission& transmission_;
  Allowance strangers_;
};

}  // namespace softrnic::cm
