// What a message does to the connection that it is about: one table, state × message.
#include "cm/incoming.h"

namespace softrnic::cm {
namespace {

constexpr std::size_t kMessages = 11;
constexpr std::size_t index_of(Message message) { return static_cast<std::size_t>(message) - 0x10; }

}  // namespace

struct Manager::Actions {
  struct Row {
    Message message;
    Action action;
    std::array<State, 8> states;  ///< as many as `count`
    std::size_t count;
  };
  template <typename... States>
  static constexpr Row row(Message message, Action action, States... states) {
    return {message, action, {states...}, sizeof...(states)};
  }

  // IBTA 12.9.7. `ignore` stands for repetitions and messages that were overtaken; what has no row should not
  // happen. A message that finds no connection goes to on_unknown_target().
  static constexpr auto rows() {
    using C = Manager;
    using S = State;
    using M = Message;
    return std::array{
        // A repeated REQ, known by its CA GUID and communication ID; the first one finds no connection.
        row(M::req, &C::on_repeated_req, S::req_received),
        row(M::req, &C::ignore, S::mra_rep_received, S::established, S::dreq_sent, S::dreq_received),
        row(M::req, &C::repeat, S::mra_req_sent, S::rep_sent),
        row(M::req, &C::refuse_again, S::timewait, S::idle),

        row(M::rep, &C::on_rep, S::req_sent, S::mra_req_received),
        row(M::rep, &C::ignore, S::rep_received, S::dreq_sent, S::dreq_received),
        row(M::rep, &C::repeat, S::mra_rep_sent, S::established),
        row(M::rep, &C::refuse_again, S::timewait, S::idle),

        row(M::rtu, &C::on_rtu, S::rep_sent, S::mra_rep_received),
        row(M::rtu, &C::ignore, S::established, S::dreq_sent, S::dreq_received, S::idle),
        row(M::rtu, &C::refuse_again, S::timewait),

        row(M::mra, &C::on_mra, S::req_sent, S::rep_sent),
        row(M::mra, &C::ignore, S::mra_req_received, S::mra_rep_received, S::rep_received, S::mra_rep_sent,
            S::established, S::dreq_sent, S::timewait, S::idle),

        row(M::rej, &C::on_rej, S::req_sent, S::mra_req_received, S::req_received, S::mra_req_sent,
            S::rep_sent, S::mra_rep_received, S::rep_received, S::mra_rep_sent),
        row(M::rej, &C::on_rej, S::established, S::dreq_sent),
        row(M::rej, &C::ignore, S::dreq_received, S::timewait, S::idle),

        // Before the RTU, or instead of it, the DREQ confirms the connection and ends it. An active side
        // whose host has not confirmed yet lets the peer ask again.
        row(M::dreq, &C::on_dreq, S::rep_sent, S::mra_rep_received, S::established),
        row(M::dreq, &C::on_crossing_dreq, S::dreq_sent),
        row(M::dreq, &C::ignore, S::dreq_received, S::rep_received, S::mra_rep_sent),
        row(M::dreq, &C::on_late_dreq, S::timewait, S::idle),

        row(M::drep, &C::on_sign_of_life, S::req_received),
        row(M::drep, &C::on_drep, S::dreq_sent),
        row(M::drep, &C::ignore, S::mra_req_sent, S::rep_sent, S::mra_rep_received, S::established,
            S::dreq_received, S::timewait, S::idle),

        row(M::lap, &C::on_lap, S::established, S::rep_sent, S::mra_rep_received, S::rep_received,
            S::mra_rep_sent),
        row(M::lap, &C::ignore, S::dreq_sent, S::dreq_received, S::timewait, S::idle),

        row(M::sidr_req, &C::ignore, S::sidr_req_received),
        row(M::sidr_req, &C::repeat, S::timewait),
        row(M::sidr_rep, &C::on_sidr_rep, S::sidr_req_sent),
        row(M::sidr_rep, &C::ignore, S::idle),
    };
  }

  using Table = std::array<std::array<Action, kMessages>, kStates>;
  static constexpr Table make() {
    Table table{};
    for (auto& state : table) state.fill(&Manager::unexpected);
    for (const Row& entry : rows()) {
      for (std::size_t i = 0; i < entry.count; ++i) {
        table[static_cast<std::size_t>(entry.states[i])][index_of(entry.message)] = entry.action;
      }
    }
    return table;
  }
};

Connection* Manager::repeated_request(const Incoming& in, Message message) {
  Connection* found = nullptr;
  if (message == Message::req) {
    const Req req = decode<Req>(in.mad);
    found = table_.find_request(in.from.remote, req.ca_guid, req.local_id);
  } else {
    found = table_.find_sidr(in.from.remote, decode<SidrReq>(in.mad).request_id);
  }
  if (found != nullptr) ++found->datagrams_in;
  return found;
}

namespace {

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

// Every message but REQ and SIDR_REQ names the ID that this side gave it. It counts from the connection's
// peer alone, address to address: an ID is a number that others may have learned.
Connection* Manager::target_of(const Incoming& in, Message message) {
  if (message == Message::req || message == Message::sidr_req) return repeated_request(in, message);
  const Rej common = decode<Rej>(in.mad);  // IDs and `about` lie where the other messages have them
  if (message == Message::rej) {
    const std::uint64_t ca_guid = load_be64(common.additional_info.data());
    Connection* const found = table_.find_request(in.from.remote, ca_guid, common.local_id);
    if (found != nullptr && names_no_id(common, *found)) return found;
  }
  const bool sidr = message == Message::sidr_rep;
  Connection* const found = table_.find(sidr ? decode<SidrRep>(in.mad).request_id : common.remote_id);
  if (found == nullptr || found->sidr != sidr || !found->peer.joins_same_hosts(in.from)) return nullptr;
  if ((sidr || message == Message::rep) && !found->active) return nullptr;
  if (!sidr && !names_itself(*found, message, common.local_id)) return nullptr;
  // a DREP comes from anybody who is asked, see manager_held_requests.cc
  if (message != Message::drep) prove(*found);
  return found;
}

void Manager::dispatch(const Incoming& in, Message message) {
  static constexpr Actions::Table kTable = Actions::make();
  Connection* const target = target_of(in, message);
  if (target == nullptr) return on_unknown_target(in, message);
  (this->*kTable[static_cast<std::size_t>(target->state)][index_of(message)])(*target, in);
}

void Manager::receive(const mad::Address& from, Bytes mad, TimePoint now) {
  const auto header = mad::parse_header(mad);
  if (!header || header->management_class != mad::ManagementClass::communication) {
    const auto byte = [mad](std::size_t at) {
      return at < mad.size() ? std::to_integer<unsigned>(mad[at]) : 0;
    };
    return host_.explain(because(ReasonId::cm_drop_malformed, mad.size(), byte(0), byte(1), byte(2)), from);
  }
  const Incoming in{from, *header, mad, now};
  if (header->method == mad::Method::get || header->method == mad::Method::set) return on_get(in);
  if (header->class_version != kClassVersion) {
    return host_.explain(because(ReasonId::cm_drop_malformed, mad.size(), header->base_version,
                                 header->management_class, header->class_version),
                         from);
  }
  const Format* const format = find_format(header->attribute);
  if (header->method != mad::Method::send || format == nullptr) {
    return host_.explain(because(ReasonId::cm_drop_unknown, header->method, header->attribute), from);
  }
  dispatch(in, format->message);
}

void Manager::unexpected(Connection& connection, const Incoming& in) {
  host_.explain(
      because(ReasonId::cm_drop_unexpected, in.header.attribute, connection.id.value, connection.state),
      in.from);
}

void Manager::repeat(Connection& connection, const Incoming&) { transmit(connection); }

// The record lives on while the peer repeats itself, so that the host is not asked a second time.
void Manager::refuse_again(Connection& connection, const Incoming& in) {
  const bool is_req = in.header.attribute == static_cast<std::uint16_t>(Message::req);
  if (connection.last_message() == Message::rej) {
    // Who still repeats the REQ never got the REP, and takes no REJ of anything else.
    Rej rej = decode<Rej>(connection.sent);
    if (is_req) rej.about = About::req;
    send(connection, encode(rej, connection.transaction));
    if (connection.state == State::timewait) enter_timewait(connection, in.now);
    return;
  }
  if (is_req) {
    issue_rej(in, RejectReason::stale_connection, About::req);
  } else if (connection.remote_id == 0) {  // else the connection came about and is over: this is late
    issue_rej(in, RejectReason::invalid_communication_id, About::rep);
  }
}

void Manager::on_mra(Connection& connection, const Incoming& in) {
  const Mra mra = decode<Mra>(in.mad);
  const About awaited = connection.active ? About::req : About::rep;
  if (mra.about != awaited) return unexpected(connection, in);
  enter(connection, connection.active ? State::mra_req_received : State::mra_rep_received);
  connection.interval = answer_time_of(mra.service_timeout, kMaxServiceTimeout) + 2 * connection.life_time;
  table_.set_due(connection, in.now + connection.interval);
  Event event{.kind = EventKind::delayed};
  event.about = mra.about;
  event.service_timeout = mra.service_timeout;
  event.private_data = in.private_data(kMraPrivateData);
  tell(connection, event);
}

}  // namespace softrnic::cm
