#include "cm/manager.h"

#include <array>
#include <cerrno>
#include <initializer_list>

#include "base/reason_id.h"

namespace softrnic::cm {
namespace {

enum class Farewell : std::uint8_t {
  none,
  forget,          ///< nobody else knows of it
  reject_timeout,  ///< the REQ is taken back
  reject_consumer,
  dreq,
  drep,
  sidr_rejected,
};
constexpr std::array<Farewell, kStates> kFarewells = [] {
  std::array<Farewell, kStates> table{};
  const auto set = [&table](Farewell farewell, std::initializer_list<State> states) {
    for (const State state : states) table[static_cast<std::size_t>(state)] = farewell;
  };
  set(Farewell::forget, {State::idle, State::sidr_req_sent});
  set(Farewell::reject_timeout, {State::req_sent, State::mra_req_received});
  set(Farewell::reject_consumer, {State::req_received, State::mra_req_sent, State::rep_sent,
                                  State::mra_rep_received, State::rep_received, State::mra_rep_sent});
  set(Farewell::dreq, {State::established});
  set(Farewell::drep, {State::dreq_received});
  set(Farewell::sidr_rejected, {State::sidr_req_received});
  set(Farewell::none, {State::dreq_sent, State::timewait});  // goes on unseen
  return table;
}();

}  // namespace

Manager::Manager(Host& host, std::uint64_t ca_guid, const Limits& limits)
    : limits_(limits),
      lifecycle_(host, table_, listeners_, limits_.connections),
      transmission_(host, table_),
      stateless_(host),
      room_(host, limits_, table_, lifecycle_),
      held_(limits_, table_, lifecycle_, transmission_),
      intake_({host, listeners_, table_, lifecycle_, room_, held_, stateless_}),
      rejects_(ca_guid, lifecycle_, transmission_, stateless_),
      disconnects_(host, lifecycle_, transmission_, stateless_),
      mra_(table_, lifecycle_, transmission_),
      active_(ca_guid, {host, table_, lifecycle_, transmission_, rejects_, disconnects_}),
      passive_(ca_guid, {table_, lifecycle_, transmission_, rejects_, disconnects_}),
      service_ids_({host, listeners_, table_, lifecycle_, transmission_, room_}),
      dispatcher_({host, table_, lifecycle_, transmission_, stateless_, intake_, active_, passive_, mra_,
                   rejects_, disconnects_, service_ids_}) {}

Expected<Id, Failure> Manager::listen(ServiceId service_id, std::uint64_t mask) {
  const auto id = lifecycle_.free_id();
  if (!id) return id;
  if (!listeners_.add(*id, service_id, mask)) {
    return Unexpected{refuse(EADDRINUSE, ReasonId::cm_service_in_use, service_id.value)};
  }
  return id;
}

void Manager::destroy(Id id, TimePoint now) {
  Connection* const found = table_.find(id.value);
  if (found == nullptr || found->hidden) return;
  found->hidden = true;
  part_from(*found, now);
  Connection* const left = table_.find(id.value);
  if (left != nullptr && !room_.may_stay(*left)) lifecycle_.retire(*left);
}

void Manager::part_from(Connection& connection, TimePoint now) {
  switch (kFarewells[static_cast<std::size_t>(connection.state)]) {
    case Farewell::none:
      return;
    case Farewell::forget:
      return lifecycle_.retire(connection);
    case Farewell::reject_timeout:
      rejects_.send_timeout(connection);
      return lifecycle_.retire(connection);
    case Farewell::reject_consumer:
      rejects_.send(connection, {});
      return lifecycle_.enter_timewait(connection, now);
    case Farewell::dreq:
      return disconnects_.send_dreq(connection, {}, now);
    case Farewell::drep:
      return disconnects_.send_drep(connection, connection.transaction, {}, now);
    case Farewell::sidr_rejected:
      return service_ids_.refuse(connection, now);
  }
}

void Manager::expire(Connection& connection, TimePoint now) {
  table_.set_due(connection, kNever);
  if (connection.held != nullptr) return lifecycle_.retire(connection);
  if (connection.state == State::established) return transmission_.repeat_rtu(connection, now);
  if (connection.state != State::timewait) {
    if (!transmission_.repeat_in_time(connection, now)) give_up(connection, now);
    return;
  }
  if (connection.sidr) return lifecycle_.retire(connection);
  lifecycle_.conclude(connection, {.kind = EventKind::timewait_exit});
}

void Manager::give_up(Connection& connection, TimePoint now) {
  switch (connection.state) {
    case State::req_sent:
    case State::mra_req_received:
      return active_.timed_out(connection, now);
    case State::rep_sent:
    case State::mra_rep_received:
      return passive_.timed_out(connection, now);
    case State::dreq_sent:
      return disconnects_.timed_out(connection, now);
    case State::sidr_req_sent:
      return service_ids_.timed_out(connection);
    default:
      return;
  }
}

void Manager::advance(TimePoint now) {
  for (;;) {
    Connection* const next = table_.first_due();
    if (next == nullptr || next->due > now) return;
    expire(*next, now);
  }
}

TimePoint Manager::deadline() const {
  const Connection* const next = table_.first_due();
  return next == nullptr ? kNever : next->due;
}

std::optional<State> Manager::state(Id id) const {
  const Connection* const found = table_.find(id.value);
  if (found == nullptr || found->hidden) return std::nullopt;
  return found->state;
}

}  // namespace softrnic::cm
