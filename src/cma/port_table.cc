#include "cma/port_table.h"

#include <algorithm>
#include <cerrno>

#include "base/reason_id.h"

namespace softrnic::cma {
namespace {

constexpr std::uint32_t kEphemeralPorts = kLastEphemeralPort - kFirstEphemeralPort + 1;

/// One of two owners stands in the way of the other. Linux says EADDRNOTAVAIL when one of them has the
/// wildcard; here it is EADDRINUSE in both cases, as for sockets.
bool collide(const PortTable::Owner& a, const PortTable::Owner& b) {
  if (a.family_only && b.family_only && a.address.family != b.address.family) return false;
  return a.address.is_any() || b.address.is_any() || a.address.same_host(b.address);
}

bool shared_willingly(const PortTable::Owner& a, const PortTable::Owner& b) {
  return a.reuse && b.reuse && !a.listening && !b.listening;
}

Unexpected<Failure> in_use(std::uint16_t port, const PortTable::Owner& by) {
  return Unexpected{refuse(EADDRINUSE, ReasonId::cma_port_in_use, port, by.listening ? 1U : 0U,
                           by.address.host.high_half(), by.address.host.low_half())};
}

}  // namespace

std::span<const PortTable::Owner> PortTable::owners(PortSpace space, std::uint16_t port) const {
  const auto it = ports_.find(key(space, port));
  return it == ports_.end() ? std::span<const Owner>{} : std::span(it->second);
}

Expected<std::uint16_t, Failure> PortTable::bind(PortSpace space, const Owner& owner, std::uint32_t random) {
  const std::uint16_t port = owner.address.port;
  if (port == 0) return bind_ephemeral(space, owner, random);
  for (const Owner& other : owners(space, port))
    if (!shared_willingly(owner, other) && collide(owner, other)) return in_use(port, other);
  ports_[key(space, port)].push_back(owner);
  return port;
}

Expected<std::uint16_t, Failure> PortTable::bind_ephemeral(PortSpace space, const Owner& owner,
                                                           std::uint32_t random) {
  for (std::uint32_t i = 0; i < kEphemeralPorts; ++i) {
    const auto port = static_cast<std::uint16_t>(kFirstEphemeralPort + (random + i) % kEphemeralPorts);
    if (!owners(space, port).empty()) continue;
    Owner bound = owner;
    bound.address.port = port;
    ports_[key(space, port)].push_back(bound);
    return port;
  }
  return Unexpected{refuse(EADDRINUSE, ReasonId::cma_no_ports, kEphemeralPorts)};
}

Expected<void, Failure> PortTable::listen(PortSpace space, std::uint16_t port, IdNumber id) {
  const auto it = ports_.find(key(space, port));
  if (it == ports_.end()) return {};
  const auto self =
      std::find_if(it->second.begin(), it->second.end(), [id](const Owner& o) { return o.id == id; });
  if (self == it->second.end()) return {};
  for (const Owner& other : it->second)
    if (other.id != id && collide(*self, other)) return in_use(port, other);
  self->listening = true;
  return {};
}

void PortTable::release(PortSpace space, std::uint16_t port, IdNumber id) {
  const auto it = ports_.find(key(space, port));
  if (it == ports_.end()) return;
  std::erase_if(it->second, [id](const Owner& owner) { return owner.id == id; });
  if (it->second.empty()) ports_.erase(it);
}

void PortTable::update(PortSpace space, std::uint16_t port, const Owner& owner) {
  const auto it = ports_.find(key(space, port));
  if (it == ports_.end()) return;
  for (Owner& known : it->second)
    if (known.id == owner.id) known = owner;
}

}  // namespace softrnic::cma
