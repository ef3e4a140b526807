// The ports that ids have: bound, listened on, or come through; and which listener a request is for. Keeps
// Id::port and Id::attends.
#pragma once

#include <cstdint>

#include "base/expected.h"
#include "base/reason.h"
#include "cm/event.h"
#include "cm/manager.h"
#include "cma/device_table.h"
#include "cma/id_table.h"
#include "cma/port_listeners.h"
#include "cma/port_table.h"

namespace softrnic::cma {

class BoundPorts {
 public:
  /// All outlive this object.
  BoundPorts(cm::Manager& cm, const IdTable& ids, const DeviceTable& devices)
      : ids_(ids), devices_(devices), listeners_(cm) {}

  /// Gives the id this address, or a free ephemeral port (looked for from `random` on) when that names none.
  /// It is bound then. Fails as rdma_bind_addr does, and nothing has changed.
  Expected<void, Failure> bind(Id& id, const SocketAddress& address, std::uint32_t random);
  /// A bound id listens. EADDRINUSE: another does.
  Expected<void, Failure> listen(Id& id);
  /// Requests for the port come in from now on, for this id or others. An id attends one port, the first.
  Expected<void, Failure> attend(Id& id, std::uint16_t port);
  /// They do no more, if this was the last id.
  void unattend(Id& id);
  /// What others may bind beside it follows from its address and options, which have changed.
  void update(const Id& id);
  /// Others may have its port.
  void release(Id& id);

  /// The listener that a request is for: one with the specific address before one with the wildcard.
  /// nullptr: none.
  Id* listener_for(const cm::Event& request) const;
  /// One that listens on that port, but at another address. nullptr: none.
  const Id* listener_elsewhere(const cm::Event& request) const;
  /// Nobody may listen on it now, but a program that lives may do so in a moment. `but`: an id that does not
  /// count.
  bool may_be_heard(std::uint16_t port, IdNumber but = 0) const;

 private:
  bool may_come_by(const Id& listener, const cm::Event& request) const;
  bool hears(const Id& listener, const cm::Event& request) const;

  const IdTable& ids_;
  const DeviceTable& devices_;
  PortTable table_;
  PortListeners listeners_;
};

}  // namespace softrnic::cma
