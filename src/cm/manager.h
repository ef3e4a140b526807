// The connection manager: the active and the passive side of communication establishment and release
// (IBTA 12.9), and service ID resolution (12.11). Pure: MADs, wishes and the time come in; MADs, events
// and the next deadline go out.
//
// Calls come from one thread, with a time that never runs backwards. Events are told from inside receive(),
// advance() and established(), each as the last act on its connection: the host may call any method from
// there, destroy() of the same id included.
//
// This class puts the parts together, and has what concerns all of them: deadlines, and what destroying an ID
// means in each state. The parts:
//
//   Dispatcher            which connection a MAD is about, and what it does there: one table
//   Lifecycle             how an ID comes about, changes its state and ends
//   Transmission          what is sent, and repeated until it is answered
//   RequestIntake         REQs that no connection knows
//   HeldRequests          those whose senders are asked for a sign of life first
//   RequestRoom           who is given up when there are too many
//   ActiveSide            REQ to RTU
//   PassiveSide           REP to RTU
//   MraExchange           MRA
//   Rejects               REJ
//   Disconnects           DREQ, DREP, stale connections
//   ServiceIdResolution   SIDR
//   StatelessAnswers      answers that need no connection
//
// They share the table of connections; none knows this class.
//
// A method that is refused returns the errno that ib_cm would (EINVAL: not in this state, or a value out of
// range; ENOENT: no such id; EADDRINUSE, EMFILE) and a reason; nothing has changed then.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "base/expected.h"
#include "base/reason.h"
#include "base/time.h"
#include "cm/active_side.h"
#include "cm/connection_table.h"
#include "cm/disconnects.h"
#include "cm/dispatcher.h"
#include "cm/held_requests.h"
#include "cm/host.h"
#include "cm/lifecycle.h"
#include "cm/limits.h"
#include "cm/listeners.h"
#include "cm/mra.h"
#include "cm/passive_side.h"
#include "cm/rejects.h"
#include "cm/request_intake.h"
#include "cm/request_room.h"
#include "cm/service_id_resolution.h"
#include "cm/state.h"
#include "cm/stateless_answers.h"
#include "cm/transmission.h"
#include "cm/types.h"
#include "mad/address.h"

namespace softrnic::cm {

class Manager {
 public:
  /// `host` outlives the manager. `ca_guid` is the adapter's node GUID.
  Manager(Host& host, std::uint64_t ca_guid, const Limits& limits = {});
  Manager(const Manager&) = delete;
  Manager& operator=(const Manager&) = delete;

  // ---- passive side
  /// Requests for service IDs that equal `service_id` where `mask` has ones are told from now on, with the Id
  /// returned as the event's listener. EADDRINUSE when another listener's range overlaps.
  Expected<Id, Failure> listen(ServiceId service_id, std::uint64_t mask = ~std::uint64_t{0});
  /// Requests that were told already are not affected.
  void unlisten(Id listener) { listeners_.remove(listener); }
  /// Sends the REP; again until the RTU comes.
  Expected<void, Failure> reply(Id id, const Reply& reply, TimePoint now) {
    return passive_.reply(id, reply, now);
  }
  /// Sends an MRA: the host needs up to duration_of(service_timeout) more. On a request, or (active) on a
  /// reply.
  Expected<void, Failure> delay(Id id, std::uint8_t service_timeout, Bytes private_data, TimePoint) {
    return mra_.ask(id, service_timeout, private_data);
  }
  /// The first packet came before the RTU (IBV_EVENT_COMM_EST): tells the established event at once.
  Expected<void, Failure> established(Id id, TimePoint now) { return passive_.established(id, now); }

  // ---- active side
  /// Sends the REQ; again until it is answered. EMFILE: Limits::connections.
  Expected<Id, Failure> connect(const Request& request, TimePoint now) {
    return active_.connect(request, now);
  }
  /// After the reply event: sends the RTU, the connection is established.
  Expected<void, Failure> confirm(Id id, Bytes private_data, TimePoint now) {
    return active_.confirm(id, private_data, now);
  }

  // ---- both sides
  /// Of a request that was told, or of a reply. Active before the reply: EINVAL, use destroy(). The id goes
  /// through timewait to idle without an event of its own, except timewait_exit.
  Expected<void, Failure> reject(Id id, const Rejection& rejection, TimePoint now) {
    return rejects_.reject(id, rejection, now);
  }
  /// Sends a DREQ; again until it is answered.
  Expected<void, Failure> disconnect(Id id, Bytes private_data, TimePoint now) {
    return disconnects_.disconnect(id, private_data, now);
  }
  /// After disconnect_request: sends the DREP, the id enters timewait.
  Expected<void, Failure> disconnect_reply(Id id, Bytes private_data, TimePoint now) {
    return disconnects_.reply(id, private_data, now);
  }
  /// Forgets the id in whatever state, telling the peer what it has to know (REJ, DREQ, DREP, SIDR_REP). No
  /// event of the id is told any more; what the protocol still has to do (repeat the DREQ, wait out timewait)
  /// goes on unseen. An id that does not exist is ignored.
  void destroy(Id id, TimePoint now);

  // ---- service ID resolution
  Expected<Id, Failure> request_service_id(const SidrRequest& request, TimePoint now) {
    return service_ids_.ask(request, now);
  }
  Expected<void, Failure> answer(Id id, const SidrReply& reply, TimePoint now) {
    return service_ids_.answer(id, reply, now);
  }

  // ---- the world
  /// A MAD of class `communication` came. `from.local` is the GID it was sent to.
  void receive(const mad::Address& from, Bytes mad, TimePoint now) { dispatcher_.receive(from, mad, now); }
  /// Does what is due at `now`.
  void advance(TimePoint now);
  /// When advance() has something to do next; kNever when nothing.
  TimePoint deadline() const;

  // ---- for people
  /// The state of a live id, nothing for one that does not exist or was destroyed.
  std::optional<State> state(Id id) const;
  /// All ids, destroyed ones that still wait included; listeners not.
  std::size_t size() const { return table_.size(); }

 private:
  /// What destroy() owes the peer. May erase the connection.
  void part_from(Connection& connection, TimePoint now);
  void expire(Connection& connection, TimePoint now);
  void give_up(Connection& connection, TimePoint now);

  Limits limits_;
  ConnectionTable table_;
  Listeners listeners_;
  Lifecycle lifecycle_;
  Transmission transmission_;
  StatelessAnswers stateless_;
  RequestRoom room_;
  HeldRequests held_;
  RequestIntake intake_;
  Rejects rejects_;
  Disconnects disconnects_;
  MraExchange mra_;
  ActiveSide active_;
  PassiveSide passive_;
  ServiceIdResolution service_ids_;
  Dispatcher dispatcher_;
};

}  // namespace softrnic::cm
