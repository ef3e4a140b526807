// Who has which port: one table for each port space.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/expected.h"
#include "base/reason.h"
#include "cma/address.h"
#include "cma/port_space.h"

namespace softrnic::cma {

/// A communication id: unique in its manager, never 0.
using IdNumber = std::uint32_t;

/// The range of Linux's ip_local_port_range. Ports below 1024 are like any other: the
/// daemon belongs to one user.
inline constexpr std::uint16_t kFirstEphemeralPort = 32768;
inline constexpr std::uint16_t kLastEphemeralPort = 60999;

class PortTable {
 public:
  struct Owner {
    IdNumber id = 0;
    SocketAddress address;  ///< wildcard or specific
    bool reuse = false;     ///< RDMA_OPTION_ID_REUSEADDR
    /// IPv4, or IPv6 with RDMA_OPTION_ID_AFONLY: the other family may have the port
    bool family_only = false;
    bool listening = false;
  };

  /// Takes the port of `owner.address`, or when that is 0 a free ephemeral one, looked for from `random` on.
  /// EADDRINUSE: somebody has it, or all are taken.
  Expected<std::uint16_t, Failure> bind(PortSpace space, const Owner& owner, std::uint32_t random);
  /// REUSEADDR lets several ids bind one address, but only one of them listens. EADDRINUSE.
  Expected<void, Failure> listen(PortSpace space, std::uint16_t port, IdNumber id);
  void release(PortSpace space, std::uint16_t port, IdNumber id);
  /// The id knows its address now (it was bound to the wildcard), or its flags have changed.
  void update(PortSpace space, std::uint16_t port, const Owner& owner);

  std::span<const Owner> owners(PortSpace space, std::uint16_t port) const;

 private:
  static std::uint32_t key(PortSpace space, std::uint16_t port) {
    return (static_cast<std::uint32_t>(space) << 16) | port;
  }
  Expected<std::uint16_t, Failure> bind_ephemeral(PortSpace space, const Owner& owner, std::uint32_t random);

  std::unordered_map<std::uint32_t, std::vector<Owner>> ports_;
};

}  // namespace softrnic::cma
