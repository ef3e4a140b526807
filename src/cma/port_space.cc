#include "cma/port_space.h"

namespace softrnic::cma {
namespace {

constexpr std::uint64_t kPortBits = 0xffff;

constexpr std::uint64_t prefix_of(PortSpace space) { return static_cast<std::uint64_t>(space) << 16; }

}  // namespace

std::optional<PortSpace> port_space_of(std::uint16_t number) {
  for (const PortSpace space : kPortSpaces)
    if (static_cast<std::uint16_t>(space) == number) return space;
  return std::nullopt;
}

std::optional<PortSpace> binding_space(PortSpace of_id, const SocketAddress& address) {
  if (address.family != Family::ib) return of_id;
  const std::uint64_t mask = address.service_mask & ~kPortBits;
  // the id's own space first: with an empty mask every space fits
  if ((address.service_id & mask) == (prefix_of(of_id) & mask)) return of_id;
  if (of_id != PortSpace::ib) return std::nullopt;
  for (const PortSpace space : kPortSpaces)
    if ((address.service_id & mask) == (prefix_of(space) & mask)) return space;
  return std::nullopt;
}

std::uint64_t service_id_of(PortSpace space, std::uint16_t port) { return prefix_of(space) | port; }

std::uint64_t service_id_of(PortSpace space, const SocketAddress& address) {
  return address.family == Family::ib ? address.service_id : service_id_of(space, address.port);
}

std::optional<Service> service_of(std::uint64_t service_id) {
  for (const PortSpace space : kPortSpaces)
    if ((service_id & ~kPortBits) == prefix_of(space))
      return Service{space, static_cast<std::uint16_t>(service_id & kPortBits)};
  return std::nullopt;
}

}  // namespace softrnic::cma
