// The connection manager: the active and the passive side of communication establishment and release
// (IBTA 12.9), and service ID resolution (12.11). Pure: MADs, wishes and the time come in; MADs, events
// and the next deadline go out.
//
// Calls come from one thread, with a time that never runs backwards. Events are told from inside receive(),
// advance() and established(), each as the last act on its connection: the host may call any method from
// there, destroy() of the same id included.
//
// Its parts: manager.cc has what all states share, manager_dispatch.cc the table state × message;
// manager_active.cc, manager_passive.cc, manager_held_requests.cc, manager_release.cc and manager_sidr.cc
// have the actions, manager_stateless.cc the answers that need no connection.
//
// A method that is refused returns the errno that ib_cm would (EINVAL: not in this state, or a value out of
// range; ENOENT: no such id; EADDRINUSE, EMFILE) and a reason; nothing has changed then.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>

#include "base/bytes.h"
#include "base/expected.h"
#include "base/reason.h"
#include "base/time.h"
#include "cm/allowance.h"
#include "cm/connection_table.h"
#include "cm/event.h"
#include "cm/listeners.h"
#include "cm/messages.h"
#include "cm/state.h"
#include "cm/types.h"
#include "mad/address.h"

namespace softrnic::cm {

struct Incoming;

/// What the manager asks of the adapter it lives in.
class Host {
 public:
  /// Sends a MAD of 256 bytes; may be lost. Must not call back.
  virtual void send(const mad::Address& to, Bytes mad) = 0;
  /// May call back, see above.
  virtual void event(const Event& event) = 0;
  /// 32 random bits: communication IDs, transaction IDs. Must not call back.
  virtual std::uint32_t random_number() = 0;
  /// A MAD was dropped, refused or rejected without the host's doing. Must not call back.
  virtual void explain(const Reason& reason, const mad::Address& peer) = 0;

 protected:
  ~Host() = default;
};

/// Bounds on what peers can make this side remember; each refusal is explained. An ID takes some 700 bytes.
struct Limits {
  /// Passive connections and SIDR requests that the host has not answered or the peer not confirmed. One
  /// more, and the oldest is given up (EventKind::unreachable): who floods keeps nobody else out, and who
  /// means it repeats his request. A program that connects to a server 10,000 times at once is an honest one.
  std::size_t half_open = 32768;
  std::size_t half_open_peer = 16384;  ///< of them, from one remote GID
  /// REQs that the host is told of without a sign of life of their senders: so many at once, and so many a
  /// second in the long run. `softrnic serve` drops the oldest of 64 that have not proved themselves: who
  /// has to has a second for it.
  std::uint32_t strangers = 32, strangers_a_second = 32;
  /// Those beyond it wait for that sign, 3 s at most. One more, and the oldest is forgotten.
  std::size_t held = 8192, held_peer = 2048;
  /// Of whom the sign was asked for. A GID that has not answered so many questions gets no more
  /// of them: what nobody takes off the link may lie for seconds in the socket's buffer, and
  /// answers to others find no room.
  std::size_t asked = 8192, asked_peer = 2;
  /// Refused requests that are remembered so that their repetitions are answered alike, without asking the
  /// host. Those beyond it are forgotten: the host hears of a repetition as of a new request.
  std::size_t refused = 16384;
  std::size_t refused_peer = 4096;
  std::size_t connections = 65536;  ///< all ids: destroyed ones that still wait, and timewait, included
};

class Manager {
 public:
  /// `host` outlives the manager. `ca_guid` is the adapter's node GUID.
  Manager(Host& host, std::uint64_t ca_guid, const Limits& limits = {})
      : host_(host),
        ca_guid_(ca_guid),
        limits_(limits),
        strangers_(limits.strangers, limits.strangers_a_second) {}
  Manager(const Manager&) = delete;
  Manager& operator=(const Manager&) = delete;

  // ---- passive side
  /// Requests for service IDs that equal `service_id` where `mask` has ones are told from now on, with the Id
  /// returned as the event's listener. EADDRINUSE when another listener's range overlaps.
  Expected<Id, Failure> listen(ServiceId service_id, std::uint64_t mask = ~std::uint64_t{0});
  /// Requests that were told already are not affected.
  void unlisten(Id listener) { listeners_.remove(listener); }
  /// Sends the REP; again until the RTU comes.
  Expected<void, Failure> reply(Id id, const Reply& reply, TimePoint now);
  /// Sends an MRA: the host needs up to duration_of(service_timeout) more. On a request, or (active) on a
  /// reply.
  Expected<void, Failure> delay(Id id, std::uint8_t service_timeout, Bytes private_data, TimePoint now);
  /// The first packet came before the RTU (IBV_EVENT_COMM_EST): tells the established event at once.
  Expected<void, Failure> established(Id id, TimePoint now);

  // ---- active side
  /// Sends the REQ; again until it is answered. EMFILE: Limits::connections.
  Expected<Id, Failure> connect(const Request& request, TimePoint now);
  /// After the reply event: sends the RTU, the connection is established.
  Expected<void, Failure> confirm(Id id, Bytes private_data, TimePoint now);

  // ---- both sides
  /// Of a request that was told, or of a reply. Active before the reply: EINVAL, use destroy(). The id goes
  /// through timewait to idle without an event of its own, except timewait_exit.
  Expected<void, Failure> reject(Id id, const Rejection& rejection, TimePoint now);
  /// Sends a DREQ; again until it is answered.
  Expected<void, Failure> disconnect(Id id, Bytes private_data, TimePoint now);
  /// After disconnect_request: sends the DREP, the id enters timewait.
  Expected<void, Failure> disconnect_reply(Id id, Bytes private_data, TimePoint now);
  /// Forgets the id in whatever state, telling the peer what it has to know (REJ, DREQ, DREP, SIDR_REP). No
  /// event of the id is told any more; what the protocol still has to do (repeat the DREQ, wait out timewait)
  /// goes on unseen. An id that does not exist is ignored.
  void destroy(Id id, TimePoint now);

  // ---- service ID resolution
  Expected<Id, Failure> request_service_id(const SidrRequest& request, TimePoint now);
  Expected<void, Failure> answer(Id id, const SidrReply& reply, TimePoint now);

  // ---- the world
  /// A MAD of class `communication` came. `from.local` is the GID it was sent to.
  void receive(const mad::Address& from, Bytes mad, TimePoint now);
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
  /// What the table of manager_dispatch.cc names.
  using Action = void (Manager::*)(Connection& connection, const Incoming& in);
  struct Actions;

  // ---- manager.cc
  std::optional<Id> free_id();
  /// The connection, when the host knows it and it is in one of `states`.
  Expected<Connection*, Failure> claim(Id id, std::initializer_list<State> states);
  void tell(const Connection& connection, Event event);
  /// retire() with a last event.
  void conclude(Connection& connection, Event event);
  void enter(Connection& connection, State state);
  /// Sends `mad` and keeps it for duplicates.
  void send(Connection& connection, const mad::Mad& mad);
  /// Whoever forges an address must not make this side send more there than he does himself.
  bool may_transmit(const Connection& connection) const;
  /// Sends what send() was given last; false and explained when it may not.
  bool transmit(Connection& connection);
  /// The peer has named our ID.
  void prove(Connection& connection);
  /// The same, again every `answer_within` until the state changes, max_retries times.
  void send_until_answered(Connection& connection, const mad::Mad& mad, TimePoint now);
  /// Until no packet of it can be under way, and for a refused request until the peer will hardly repeat it.
  void enter_timewait(Connection& connection, TimePoint now);
  /// The end: idle, or forgotten when nobody holds the id.
  void retire(Connection& connection);
  void expire(Connection& connection, TimePoint now);
  void repeat_or_give_up(Connection& connection, TimePoint now);
  void repeat_on_time(Connection& connection, TimePoint now);
  void repeat_rtu(Connection& connection, TimePoint now);

  // ---- manager_dispatch.cc
  Connection* target_of(const Incoming& in, Message message);
  Connection* repeated_request(const Incoming& in, Message message);
  void dispatch(const Incoming& in, Message message);
  void ignore(Connection&, const Incoming&) {}
  void unexpected(Connection& connection, const Incoming& in);
  void repeat(Connection& connection, const Incoming& in);
  /// A REQ, REP or RTU of an attempt that this side refused: says so again.
  void refuse_again(Connection& connection, const Incoming& in);
  void on_mra(Connection& connection, const Incoming& in);

  // ---- manager_stateless.cc
  void on_get(const Incoming& in);
  void on_unknown_target(const Incoming& in, Message message);
  void issue_rej(const Incoming& in, RejectReason reason, About about);
  void answer_dreq(const Incoming& in);
  void answer_lap(const Incoming& in, AprStatus status);

  // ---- manager_active.cc
  void on_rep(Connection& connection, const Incoming& in);
  void on_req_timeout(Connection& connection, TimePoint now);

  // ---- manager_passive.cc
  void on_req(const Incoming& in);
  /// For one more request of this burden: the oldest whose sender has proved nothing is given up when there
  /// are too many. False: no room.
  bool make_room(const Incoming& in, Burden burden);
  std::optional<RejectReason> refusal_of(const Req& req, const Incoming& in);
  Connection& add_request(Id id, const Req& req, const Incoming& in);
  void tell_request(const Connection& connection, const Incoming& in);
  void on_rtu(Connection& connection, const Incoming& in);
  /// With the event that says so. Gives up an earlier connection with the same queue pair of the peer.
  void be_established(Connection& connection, const Event& event, TimePoint now);
  void on_rep_timeout(Connection& connection, TimePoint now);

  // ---- manager_held_requests.cc
  /// Keeps a request from the host, and asks its sender for a sign of life, now or when others were answered.
  void hold(Connection& connection, const Incoming& in, Burden burden);
  void ask(Connection& connection);
  void on_repeated_req(Connection& connection, const Incoming& in);
  /// A DREP: the host is told now.
  void on_sign_of_life(Connection& connection, const Incoming& in);
  void tell_held(Connection& connection, const Incoming& in);

  // ---- manager_release.cc
  void send_dreq(Connection& connection, Bytes private_data, TimePoint now);
  void send_drep(Connection& connection, std::uint64_t transaction, Bytes private_data, TimePoint now);
  /// What destroy() owes the peer. May erase the connection.
  void part_from(Connection& connection, TimePoint now);
  /// Whether there is room for what it remembers of a request that was refused.
  bool is_worth_keeping(const Connection& connection) const;
  void send_rej(Connection& connection, const Rejection& rejection);
  void reject_by_timeout(Connection& connection);
  void on_rej(Connection& connection, const Incoming& in);
  void on_dreq(Connection& connection, const Incoming& in);
  void on_crossing_dreq(Connection& connection, const Incoming& in);
  void on_late_dreq(Connection& connection, const Incoming& in);
  void on_drep(Connection& connection, const Incoming& in);
  void on_dreq_timeout(Connection& connection, TimePoint now);
  void on_lap(Connection& connection, const Incoming& in);
  /// The peer has begun anew with the same queue pair.
  void give_up_stale(Connection& connection, Message because_of, TimePoint now);

  // ---- manager_sidr.cc
  void on_sidr_req(const Incoming& in);
  void on_sidr_rep(Connection& connection, const Incoming& in);
  void on_sidr_timeout(Connection& connection);
  void send_sidr_rep(Connection& connection, const SidrReply& reply, TimePoint now);

  Host& host_;
  std::uint64_t ca_guid_;
  Limits limits_;
  Allowance strangers_;
  ConnectionTable table_;
  Listeners listeners_;
};

}  // namespace softrnic::cm
