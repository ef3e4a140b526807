// The connection manager itself. Its parts: core.cc what all states share, dispatch.cc the table state × message,
// active.cc, passive.cc, release.cc and sidr.cc the actions, stateless.cc answers that need no connection.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <initializer_list>
#include <optional>
#include <span>

#include "cm/connection_table.h"
#include "cm/listeners.h"
#include "cm/manager.h"
#include "cm/messages.h"

namespace softrnic::cm {

/// The most that is believed of a peer's 5-bit time-outs, so that no stranger makes this side remember him for hours: 8.6 s
/// for an answer, 69 s when it asks for more time (MRA).
inline constexpr std::uint8_t kMaxPeerTimeout = 21;
inline constexpr std::uint8_t kMaxServiceTimeout = 24;

/// What the ACK time-out of a path says of a packet's life time on it: half. 0 (no time-out) says nothing; Linux counts with
/// code 16 on RoCE.
constexpr Duration life_time_of(std::uint8_t ack_timeout) {
  constexpr std::uint8_t kUnknown = 16;
  return duration_of(
      ack_timeout == 0 ? kUnknown : static_cast<std::uint8_t>(std::min(ack_timeout, kMaxPeerTimeout) - 1));
}

mad::Address address_of(const Path& path);
/// Nothing for a service that does not exist.
std::optional<Service> service_of(const Req& req);

/// A MAD on its way through the manager.
struct Incoming {
  const mad::Address& from;
  const mad::Header& header;
  Bytes mad;
  TimePoint now;

  /// The private data: every CM message ends with it.
  Bytes private_data(std::size_t bytes) const { return mad.subspan(mad.size() - bytes); }
};

class Manager::Core {
 public:
  Core(Host& host, std::uint64_t ca_guid, const Limits& limits)
      : host_(host), ca_guid_(ca_guid), limits_(limits) {}

  // See Manager.
  Expected<Id, Failure> listen(ServiceId service_id, std::uint64_t mask);
  void unlisten(Id listener) { listeners_.remove(listener); }
  Expected<void, Failure> reply(Id id, const Reply& reply, TimePoint now);
  Expected<void, Failure> delay(Id id, std::uint8_t service_timeout, Bytes private_data, TimePoint now);
  Expected<void, Failure> established(Id id, TimePoint now);
  Expected<Id, Failure> connect(const Request& request, TimePoint now);
  Expected<void, Failure> confirm(Id id, Bytes private_data, TimePoint now);
  Expected<void, Failure> reject(Id id, const Rejection& rejection, TimePoint now);
  Expected<void, Failure> disconnect(Id id, Bytes private_data, TimePoint now);
  Expected<void, Failure> disconnect_reply(Id id, Bytes private_data, TimePoint now);
  void destroy(Id id, TimePoint now);
  Expected<Id, Failure> request_service_id(const SidrRequest& request, TimePoint now);
  Expected<void, Failure> answer(Id id, const SidrReply& reply, TimePoint now);
  void receive(const mad::Address& from, Bytes mad, TimePoint now);
  void advance(TimePoint now);
  TimePoint deadline() const;
  std::optional<State> state(Id id) const;
  std::size_t size() const { return table_.size(); }

  /// What the table of dispatch.cc names.
  using Action = void (Core::*)(Connection& connection, const Incoming& in);
  struct Actions;

 private:
  // ---- core.cc
  std::optional<Id> free_id();
  /// The connection, when the host knows it and it is in one of `states`.
  Expected<Connection*, Failure> claim(Id id, std::initializer_list<State> states);
  void tell(const Connection& connection, Event event);
  /// retire() with a last event.
  void conclude(Connection& connection, Event event);
  void enter(Connection& connection, State state);
  /// Sends `mad` and keeps it for duplicates.
  void send(Connection& connection, const mad::Mad& mad);
  /// The same, again every `answer_within` until the state changes, max_retries times.
  void send_until_answered(Connection& connection, const mad::Mad& mad, TimePoint now);
  /// Until no packet of it can be under way, and for a refused request until the peer will hardly repeat it.
  void enter_timewait(Connection& connection, TimePoint now);
  /// The end: idle, or forgotten when nobody holds the id.
  void retire(Connection& connection);
  void expire(Connection& connection, TimePoint now);
  void repeat_or_give_up(Connection& connection, TimePoint now);

  // ---- dispatch.cc
  Connection* target_of(const Incoming& in, Message message);
  void dispatch(const Incoming& in, Message message);
  void ignore(Connection&, const Incoming&) {}
  void unexpected(Connection& connection, const Incoming& in);
  void repeat(Connection& connection, const Incoming& in);
  /// A REQ, REP or RTU of an attempt that this side refused: says so again.
  void refuse_again(Connection& connection, const Incoming& in);
  void on_mra(Connection& connection, const Incoming& in);

  // ---- stateless.cc
  void on_get(const Incoming& in);
  void on_unknown_target(const Incoming& in, Message message);
  void issue_rej(const Incoming& in, RejectReason reason, About about);
  void answer_dreq(const Incoming& in);
  void answer_lap(const Incoming& in, AprStatus status);

  // ---- active.cc
  void on_rep(Connection& connection, const Incoming& in);
  void on_req_timeout(Connection& connection, TimePoint now);

  // ---- passive.cc
  void on_req(const Incoming& in);
  bool has_room(const Incoming& in);
  std::optional<RejectReason> refusal_of(const Req& req, const Incoming& in);
  Connection& add_request(Id id, const Req& req, const Incoming& in);
  void on_rtu(Connection& connection, const Incoming& in);
  void on_rep_timeout(Connection& connection, TimePoint now);

  // ---- release.cc
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

  // ---- sidr.cc
  void on_sidr_req(const Incoming& in);
  void on_sidr_rep(Connection& connection, const Incoming& in);
  void on_sidr_timeout(Connection& connection);
  void send_sidr_rep(Connection& connection, const SidrReply& reply, TimePoint now);

  Host& host_;
  std::uint64_t ca_guid_;
  Limits limits_;
  ConnectionTable table_;
  Listeners listeners_;
};

/// Copies `from` to the start of `to`; it fits, see fits().
template <std::size_t n>
void fill(Data<n>& to, Bytes from) {
  if (!from.empty()) std::memcpy(to.data(), from.data(), from.size());
}

/// Nothing, or why `data` does not fit into `room` bytes.
inline std::optional<Failure> too_long(Bytes data, std::size_t room) {
  if (data.size() <= room) return std::nullopt;
  return refuse(EINVAL, ReasonId::cm_data_too_long, data.size(), room);
}

}  // namespace softrnic::cm
