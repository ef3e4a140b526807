#include "cm/dispatcher.h"

#include <array>
#include <cstddef>

#include "base/reason_id.h"

namespace softrnic::cm {
namespace {

constexpr std::size_t kMessages = 11;
constexpr std::size_t index_of(Message message) { return static_cast<std::size_t>(message) - 0x10; }

// ---- what a message can do

using Parts = Dispatcher::Parts;
using Action = void (*)(const Parts& to, Connection& connection, const Incoming& in);

void ignore(const Parts&, Connection&, const Incoming&) {}
void unexpected(const Parts& to, Connection& connection, const Incoming& in) {
  to.host.explain(
      because(ReasonId::cm_drop_unexpected, in.header.attribute, connection.id.value, connection.state),
      in.from);
}
void repeat(const Parts& to, Connection& connection, const Incoming&) { to.transmission.repeat(connection); }
void refuse_again(const Parts& to, Connection& connection, const Incoming& in) {
  to.rejects.say_again(connection, in);
}
void repeated_req(const Parts& to, Connection& connection, const Incoming& in) {
  to.intake.repeated(connection, in);
}
void sign_of_life(const Parts& to, Connection& connection, const Incoming& in) {
  to.intake.sign_of_life(connection, in);
}
void rep(const Parts& to, Connection& connection, const Incoming& in) {
  if (!to.active.rep_came(connection, in)) unexpected(to, connection, in);
}
void rtu(const Parts& to, Connection& connection, const Incoming& in) { to.passive.rtu_came(connection, in); }
void mra(const Parts& to, Connection& connection, const Incoming& in) {
  if (!to.mra.came(connection, in)) unexpected(to, connection, in);
}
void rej(const Parts& to, Connection& connection, const Incoming& in) { to.rejects.came(connection, in); }
void dreq(const Parts& to, Connection& connection, const Incoming& in) {
  to.disconnects.dreq_came(connection, in);
}
void crossing_dreq(const Parts& to, Connection& connection, const Incoming& in) {
  to.disconnects.dreq_crossed(connection, in);
}
void late_dreq(const Parts& to, Connection& connection, const Incoming& in) {
  to.disconnects.dreq_late(connection, in);
}
void drep(const Parts& to, Connection& connection, const Incoming& in) {
  to.disconnects.drep_came(connection, in);
}
void lap(const Parts& to, Connection& connection, const Incoming& in) {
  to.disconnects.lap_came(connection, in);
}
void sidr_rep(const Parts& to, Connection& connection, const Incoming& in) {
  to.service_ids.reply_came(connection, in);
}

// ---- which does

struct Row {
  Message message;
  Action action;
  std::array<State, 8> states;  ///< as many as `count`
  std::size_t count;
};
template <typename... States>
constexpr Row row(Message message, Action action, States... states) {
  return {message, action, {states...}, sizeof...(states)};
}

// IBTA 12.9.7. `ignore` stands for repetitions and messages that were overtaken; what has no row should not
// happen. What finds no connection: Dispatcher::dispatch().
constexpr auto rows() {
  using S = State;
  using M = Message;
  return std::array{
      // A repeated REQ, known by its CA GUID and communication ID; the first one finds no connection.
      row(M::req, repeated_req, S::req_received),
      row(M::req, ignore, S::mra_rep_received, S::established, S::dreq_sent, S::dreq_received),
      row(M::req, repeat, S::mra_req_sent, S::rep_sent),
      row(M::req, refuse_again, S::timewait, S::idle),

      row(M::rep, rep, S::req_sent, S::mra_req_received),
      row(M::rep, ignore, S::rep_received, S::dreq_sent, S::dreq_received),
      row(M::rep, repeat, S::mra_rep_sent, S::established),
      row(M::rep, refuse_again, S::timewait, S::idle),

      row(M::rtu, rtu, S::rep_sent, S::mra_rep_received),
      row(M::rtu, ignore, S::established, S::dreq_sent, S::dreq_received, S::idle),
      row(M::rtu, refuse_again, S::timewait),

      row(M::mra, mra, S::req_sent, S::rep_sent),
      row(M::mra, ignore, S::mra_req_received, S::mra_rep_received, S::rep_received, S::mra_rep_sent,
          S::established, S::dreq_sent, S::timewait, S::idle),

      row(M::rej, rej, S::req_sent, S::mra_req_received, S::req_received, S::mra_req_sent, S::rep_sent,
          S::mra_rep_received, S::rep_received, S::mra_rep_sent),
      row(M::rej, rej, S::established, S::dreq_sent),
      row(M::rej, ignore, S::dreq_received, S::timewait, S::idle),

      // Before the RTU, or instead of it, the DREQ confirms the connection and ends it. An active side
      // whose host has not confirmed yet lets the peer ask again.
      row(M::dreq, dreq, S::rep_sent, S::mra_rep_received, S::established),
      row(M::dreq, crossing_dreq, S::dreq_sent),
      row(M::dreq, ignore, S::dreq_received, S::rep_received, S::mra_rep_sent),
      row(M::dreq, late_dreq, S::timewait, S::idle),

      row(M::drep, sign_of_life, S::req_received),
      row(M::drep, drep, S::dreq_sent),
      row(M::drep, ignore, S::mra_req_sent, S::rep_sent, S::mra_rep_received, S::established,
          S::dreq_received, S::timewait, S::idle),

      row(M::lap, lap, S::established, S::rep_sent, S::mra_rep_received, S::rep_received, S::mra_rep_sent),
      row(M::lap, ignore, S::dreq_sent, S::dreq_received, S::timewait, S::idle),

      row(M::sidr_req, ignore, S::sidr_req_received),
      row(M::sidr_req, repeat, S::timewait),
      row(M::sidr_rep, sidr_rep, S::sidr_req_sent),
      row(M::sidr_rep, ignore, S::idle),
  };
}

using Table = std::array<std::array<Action, kMessages>, kStates>;
constexpr Table make() {
  Table table{};
  for (auto& state : table) state.fill(unexpected);
  for (const Row& entry : rows()) {
    for (std::size_t i = 0; i < entry.count; ++i) {
      table[static_cast<std::size_t>(entry.states[i])][index_of(entry.message)] = entry.action;
    }
  }
  return table;
}

// A REJ for a time-out may come from a peer that never learned our ID; it gives its CA GUID instead
// (12.6.7.2). Who has named our ID before has to do so here.
bool names_no_id(const Rej& rej, const Connection& connection) {
  return rej.reason == RejectReason::timeout && !connection.active && !connection.proven;
}

// What the peer calls itself has to agree with what it said before, except where that cannot be known yet: a
// REP, an MRA, and a REJ, which may follow a REP that was lost.
bool names_itself(const Connection& connection, Message message, std::uint32_t its_id) {
  const bool may_be_first = message == Message::rep || message == Message::rej || message == Message::mra;
  const bool early = connection.active && connection.remote_id == 0 && may_be_first;
  return early || connection.remote_id == its_id;
}

}  // namespace

Connection* Dispatcher::repeated_request(const Incoming& in, Message message) {
  Connection* found = nullptr;
  if (message == Message::req) {
    const Req req = decode<Req>(in.mad);
    found = to_.table.find_request(in.from.remote, req.ca_guid, req.local_id);
  } else {
    found = to_.table.find_sidr(in.from.remote, decode<SidrReq>(in.mad).request_id);
  }
  if (found != nullptr) ++found->datagrams_in;
  return found;
}

// Every message but REQ and SIDR_REQ names the ID that this side gave it. It counts from the connection's
// peer alone, address to address: an ID is a number that others may have learned.
Connection* Dispatcher::target_of(const Incoming& in, Message message) {
  if (message == Message::req || message == Message::sidr_req) return repeated_request(in, message);
  const Rej common = decode<Rej>(in.mad);  // IDs and `about` lie where the other messages have them
  if (message == Message::rej) {
    const std::uint64_t ca_guid = load_be64(common.additional_info.data());
    Connection* const found = to_.table.find_request(in.from.remote, ca_guid, common.local_id);
    if (found != nullptr && names_no_id(common, *found)) return found;
  }
  const bool sidr = message == Message::sidr_rep;
  Connection* const found = to_.table.find(sidr ? decode<SidrRep>(in.mad).request_id : common.remote_id);
  if (found == nullptr || found->sidr != sidr || !found->peer.joins_same_hosts(in.from)) return nullptr;
  if ((sidr || message == Message::rep) && !found->active) return nullptr;
  if (!sidr && !names_itself(*found, message, common.local_id)) return nullptr;
  // a DREP comes from anybody who is asked, see HeldRequests
  if (message != Message::drep) to_.lifecycle.prove(*found);
  return found;
}

void Dispatcher::dispatch(const Incoming& in, Message message) {
  static constexpr Table kTable = make();
  if (Connection* const target = target_of(in, message))
    return kTable[static_cast<std::size_t>(target->state)][index_of(message)](to_, *target, in);
  if (message == Message::req) return to_.intake.came(in);
  if (message == Message::sidr_req) return to_.service_ids.request_came(in);
  to_.stateless.unknown_target(in, message, to_.table);
}

void Dispatcher::receive(const mad::Address& from, Bytes mad, TimePoint now) {
  const auto header = mad::parse_header(mad);
  if (!header || header->management_class != mad::ManagementClass::communication) {
    const auto byte = [mad](std::size_t at) {
      return at < mad.size() ? std::to_integer<unsigned>(mad[at]) : 0;
    };
    return to_.host.explain(because(ReasonId::cm_drop_malformed, mad.size(), byte(0), byte(1), byte(2)),
                            from);
  }
  const Incoming in{from, *header, mad, now};
  if (header->method == mad::Method::get || header->method == mad::Method::set) return to_.stateless.get(in);
  if (header->class_version != kClassVersion) {
    return to_.host.explain(because(ReasonId::cm_drop_malformed, mad.size(), header->base_version,
                                    header->management_class, header->class_version),
                            from);
  }
  const Format* const format = find_format(header->attribute);
  if (header->method != mad::Method::send || format == nullptr) {
    return to_.host.explain(because(ReasonId::cm_drop_unknown, header->method, header->attribute), from);
  }
  dispatch(in, format->message);
}

}  // namespace softrnic::cm
