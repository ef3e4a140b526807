#include "cma/port_listeners.h"

namespace softrnic::cma {

Expected<void, Failure> PortListeners::add(IdNumber id, std::uint16_t number) {
  Port& port = ports_[number];
  if (port.ids.empty()) {
    for (std::size_t i = 0; i < kPortSpaces.size(); ++i) {
      const auto listener = cm_.listen(cm::ServiceId(service_id_of(kPortSpaces[i], number)));
      if (!listener) {
        withdraw(number);
        return Unexpected{listener.error()};
      }
      port.listeners[i] = *listener;
    }
  }
  port.ids.insert(id);
  return {};
}

void PortListeners::remove(IdNumber id, std::uint16_t number) {
  const auto port = ports_.find(number);
  if (port == ports_.end()) return;
  port->second.ids.erase(id);
  if (port->second.ids.empty()) withdraw(number);
}

const std::set<IdNumber>* PortListeners::ids(std::uint16_t number) const {
  const auto port = ports_.find(number);
  return port == ports_.end() ? nullptr : &port->second.ids;
}

void PortListeners::withdraw(std::uint16_t number) {
  for (const cm::Id listener : ports_.at(number).listeners)
    if (listener.value != 0) cm_.unlisten(listener);
  ports_.erase(number);
}

}  // namespace softrnic::cma
