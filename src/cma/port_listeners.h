// For which ports the communication manager takes requests: those that ids are bound to, listen on or came
// through, in all port spaces at once (perftest connects in one and tests in the other).
#pragma once

#include <array>
#include <cstdint>
#include <set>
#include <unordered_map>

#include "base/expected.h"
#include "cm/manager.h"
#include "cma/port_space.h"
#include "cma/types.h"

namespace softrnic::cma {

class PortListeners {
 public:
  /// `cm` outlives this object.
  explicit PortListeners(cm::Manager& cm) : cm_(cm) {}

  /// `id` has to do with the port from now on. Fails when requests for it cannot be had, and
  /// nothing has changed then.
  Expected<void, Failure> add(IdNumber id, std::uint16_t port);
  /// It has no more.
  void remove(IdNumber id, std::uint16_t port);
  /// Who has; null: nobody.
  const std::set<IdNumber>* ids(std::uint16_t port) const;

 private:
  struct Port {
    std::array<cm::Id, kPortSpaces.size()> listeners{};
    std::set<IdNumber> ids;
  };

  void withdraw(std::uint16_t port);

  cm::Manager& cm_;
  std::unordered_map<std::uint16_t, Port> ports_;
};

}  // namespace softrnic::cma
