// The Ethernet address behind a GID, as the kernel's neighbour tables have it.
#pragma once

#include <array>
#include <cstdint>

#include "base/expected.h"
#include "base/reason.h"
#include "wire/gid.h"

namespace softrnic::net {

struct Neighbour {
  static constexpr std::uint16_t kNoVlan = 0xffff;
  std::array<std::uint8_t, 6> mac{};
  std::uint16_t vlan = kNoVlan;
};

/// Makes the kernel ask the link for `address` (ARP, neighbour discovery) unless it knows it: sends it an
/// empty datagram. Does not wait.
void solicit(const wire::Gid& address, std::uint32_t interface_index);

/// The next hop towards `destination` from the netdev `interface_index`. Asks for the address on the link
/// when it is not known and waits for the answer, at most 3 s. Addresses of this host have the MAC of the
/// netdev that holds them (zeros on loopback), multicast addresses the one they map to (RFC 1112, RFC 2464).
/// EHOSTUNREACH: no route or no answer. The failure is not explained yet (base/reason.h): that is for
/// whoever answers with it.
Expected<Neighbour, Failure> resolve_neighbour(const wire::Gid& destination, std::uint32_t interface_index);

}  // namespace softrnic::net
