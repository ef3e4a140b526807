// The connection manager of iWARP: connections of TCP, set up by MPA (RFC 5044 7.1, RFC 6581), until a
// program has the stream. Pure: what happens to streams, wishes and the time come in; bytes, events and the
// next deadline go out.
//
// A stream has the number of its connection. Its host reads no more than wanted() says, so that all that
// follows MPA's frames is left to the program, and tells what comes by received(), the end by ended().
//
// Calls come from one thread, with a time that never runs backwards. Events are told as the last act on
// their connection: the host may call any method from there. A method that is refused returns an errno and
// a reason, and nothing has changed then, unless it says otherwise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "base/bytes.h"
#include "base/expected.h"
#include "base/reason.h"
#include "base/time.h"
#include "iwcm/connection_table.h"
#include "iwcm/host.h"
#include "iwcm/limits.h"
#include "iwcm/types.h"

namespace softrnic::iwcm {

class Manager {
 public:
  /// Both outlive the manager.
  Manager(Host& host, Streams& streams, const Limits& limits = {})
      : host_(host), streams_(streams), limits_(limits) {}
  Manager(const Manager&) = delete;
  Manager& operator=(const Manager&) = delete;

  // ---- passive side
  /// Connections to this address are taken from now on. EADDRINUSE and what else listen() says; EMFILE: see
  /// Limits.
  Expected<ListenerId, Failure> listen(const Listening& listening);
  /// Connections whose request has not come are closed; requests that were told are not affected.
  void unlisten(ListenerId listener);
  /// Of a request that was told: sends the reply; the host may take the stream then. ECONNRESET: the peer has
  /// given up, and the connection is over. EINVAL: too many private data, or not a request.
  Expected<void, Failure> accept(Id id, const Offer& answer);
  /// Sends a reply that says so, with private data; the connection is over then.
  Expected<void, Failure> reject(Id id, Bytes private_data);
  /// The program has its stream: tells the established event. EINVAL: it was not accepted.
  Expected<void, Failure> confirm(Id id);

  // ---- active side
  /// The reply event tells how it comes out. EMFILE: see Limits.
  Expected<Id, Failure> connect(const Request& request, TimePoint now);

  // ---- both sides
  /// The program ends the connection. The closed event comes when the stream has ended, or at the latest
  /// after Limits::disconnect_timeout; at once if the program has not taken the stream. Of an active side
  /// that is being set up it comes right behind a good reply. Does nothing before a request is answered, and
  /// after the end.
  void disconnect(Id id, TimePoint now);
  /// Forgets the id in whatever state. A request that was not answered is rejected; a stream that the program
  /// has stays its own. An id that does not exist is ignored.
  void destroy(Id id);

  /// Of an accepted request: the connection of this host that it has come from, which still waits for the
  /// reply. 0: it is another host's, or another manager's.
  Id other_end(Id id) const;

  // ---- of an established connection
  const iwarp::MpaAgreement* agreement(Id id) const;
  /// The host has taken the stream out: from now on who has it tells its end, by stream_over().
  void taken(Id id);
  /// By which stream_over() knows it: random, and known only to who has the stream.
  std::uint64_t token(Id id) const;
  /// The stream that a program had has ended. Before confirm() that is told behind the established event.
  /// False: nobody knows such a token.
  bool stream_over(std::uint64_t token);
  /// The id of that stream; 0: there is none.
  Id with_token(std::uint64_t token) const;

  // ---- streams
  /// Whether TCP is to accept another connection there now; else it may wait in TCP's queue until the program
  /// has answered some.
  bool takes_another(ListenerId listener) const;
  /// TCP has accepted a connection. 0: there is no room, or no such listener; the host closes it.
  Id incoming(ListenerId listener, const Endpoint& local, const Endpoint& remote, TimePoint now);
  /// TCP has connected, from `local`.
  void opened(Id stream, const Endpoint& local, TimePoint now);
  /// How many bytes of the stream to read at most; 0: none.
  std::size_t wanted(Id stream) const;
  /// No more than wanted().
  void received(Id stream, Bytes bytes, TimePoint now);
  /// It has ended or did not come about: `error` is TCP's errno, 0 for an end in good order.
  void ended(Id stream, int error, TimePoint now);

  // ---- time
  void advance(TimePoint now);
  TimePoint deadline() const { return next_to_open() != nullptr ? TimePoint::min() : table_.deadline(); }

  // ---- for people
  std::size_t size() const { return table_.size(); }
  /// See Limits.
  std::size_t with_socket() const { return table_.active() + table_.passive(); }

 private:
  Expected<void, Failure> open(Connection& connection, TimePoint now);
  void open_again(Connection& connection, TimePoint now);
  /// One that was queued, and for which there is room by now; nullptr: none.
  Connection* next_to_open() const;
  void open_queued(TimePoint now);
  /// Nobody listens there yet.
  void ask_later(Connection& connection, TimePoint now);
  void reply_came(Connection& connection, TimePoint now);
  void establish(Connection& connection, const iwarp::MpaAgreement& agreement);
  /// The stream is closed, and there is none any more.
  void part(Connection& connection);
  /// Tells how connecting came out.
  void fail(Connection& connection, int status, const Reason& reason);
  void request_came(Connection& connection, TimePoint now);
  /// Another request may wait at its listener.
  bool has_backlog(const Connection& connection) const;
  /// Of a connection that nobody knows of.
  void drop(Connection& connection, const Reason& reason);
  void give_up(Connection& connection);
  void close(Connection& connection, int status, const Reason& reason);
  /// After an event: of a connection that has come about, if its end is due already.
  void close_if_due(Id id);
  void expire(Connection& connection, TimePoint now);
  /// Writes what the state machine of MPA has to say.
  template <typename Machine>
  bool flush(const Connection& connection, Machine& machine) {
    const Bytes bytes = machine.output();
    if (bytes.empty()) return true;
    const bool written = streams_.write(connection.id, bytes);
    machine.sent(bytes.size());
    return written;
  }
  std::uint64_t new_token();
  enum class Side { active, passive };
  bool has_room(Side side, std::uint32_t user) const;
  Failure no_room(std::uint32_t user) const;
  /// Who could make room at another listener, or this one.
  Connection* first_elsewhere(std::uint32_t user) const;
  void make_room(ListenerId listener, std::size_t backlog, std::uint32_t user);
  /// That the user has, of what Limits::of_user counts.
  std::size_t held_by(std::uint32_t user) const;

  Host& host_;
  Streams& streams_;
  Limits limits_;
  ConnectionTable table_;
  struct Listener {
    std::uint32_t user = 0;
    std::size_t backlog = 0;
    wire::MpaDemands demands{};
  };
  std::map<std::uint32_t, Listener> listeners_;
  std::map<std::uint32_t, std::size_t> listeners_of_;  ///< by user
  std::uint32_t next_listener_ = 1;
};

}  // namespace softrnic::iwcm
