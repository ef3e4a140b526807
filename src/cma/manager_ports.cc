// Which ids requests for a port are for, and what becomes of those that come before their listener.
#include <algorithm>

#include "cma/manager.h"

namespace softrnic::cma {
namespace {

std::uint16_t port_of(const cm::Event& event) { return static_cast<std::uint16_t>(event.service_id.value); }

}  // namespace

Expected<void, Failure> Manager::attend(Id& id, std::uint16_t port) {
  if (id.attends) return {};
  const auto added = listeners_.add(id.number, port);
  if (added) id.attends = port;
  return added;
}

void Manager::unattend(Id& id) {
  if (!id.attends) return;
  const std::uint16_t port = *id.attends;
  id.attends.reset();
  // before the port is withdrawn: that ends what the communication manager knows of its requests
  if (!early_.empty() && !may_be_heard(port, id.number))
    refuse_early([port](const EarlyRequests::Request& early) { return port_of(early.event) == port; });
  listeners_.remove(id.number, port);
}

bool Manager::may_be_heard(std::uint16_t port, IdNumber but) const {
  const std::set<IdNumber>* ids = listeners_.ids(port);
  return ids != nullptr && std::any_of(ids->begin(), ids->end(), [&](IdNumber number) {
           const Id* id = number != but ? ids_.find(number) : nullptr;
           return id != nullptr && (id->state == State::address_bound || !id->port);
         });
}

bool Manager::keep_early(const cm::Event& event) {
  if (!may_be_heard(port_of(event))) return false;
  if (const auto oldest = early_.keep(event, host_.now())) refuse_unheard(oldest->event);
  return true;
}

void Manager::refuse_early(const EarlyRequests::Chosen& chosen) {
  for (const EarlyRequests::Request& early : early_.take(chosen)) refuse_unheard(early.event);
}

void Manager::hear_early() {
  const auto heard = [this](const EarlyRequests::Request& early) {
    return match_listener(early.event) != nullptr;
  };
  for (const EarlyRequests::Request& early : early_.take(heard)) request_came(early.event);
}

void Manager::forget_early(cm::Id connection) {
  const auto its = [connection](const EarlyRequests::Request& early) { return early.event.id == connection; };
  for (const EarlyRequests::Request& early : early_.take(its)) cm_.destroy(early.event.id, host_.now());
}

}  // namespace softrnic::cma
