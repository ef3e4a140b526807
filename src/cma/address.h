// An address as rdma_cm takes it: an IP address with a port, or a GID with a service ID (AF_IB).
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <optional>

#include "wire/gid.h"

namespace softrnic::cma {

enum class Family : std::uint8_t { none, ipv4, ipv6, ib };

struct SocketAddress {
  Family family = Family::none;
  wire::Gid host;               ///< IPv4 addresses are mapped (::ffff:a.b.c.d), the wildcard of IPv4 too
  std::uint16_t port = 0;       ///< AF_IB: the low 16 bits of the service ID, as far as the mask covers them
  std::uint16_t pkey = 0;       ///< AF_IB
  std::uint32_t scope = 0;      ///< interface index; IPv6
  std::uint32_t flow_info = 0;  ///< host order; IPv6 and AF_IB
  std::uint64_t service_id = 0;
  std::uint64_t service_mask = 0;

  bool operator==(const SocketAddress&) const = default;

  bool empty() const { return family == Family::none; }
  /// 0.0.0.0 or ::, the port aside
  bool is_any() const;
  /// 127.0.0.0/8 or ::1
  bool is_loopback() const;
  bool is_link_local() const { return family == Family::ipv6 && host.is_link_local(); }
  bool is_multicast() const { return !empty() && host.is_multicast(); }
  /// The same host, whatever the port. Link-local addresses of two links differ.
  bool same_host(const SocketAddress& other) const;

  /// With another port; of AF_IB the service ID follows and is known in full from then on.
  SocketAddress with_port(std::uint16_t number) const;
  /// The wildcard address of a family.
  static SocketAddress any(Family family);
  /// 127.0.0.1 or ::1
  static SocketAddress loopback(Family family);
};

/// Nothing when the family is none of AF_INET, AF_INET6 and AF_IB. AF_UNSPEC is an empty address.
std::optional<SocketAddress> from_sockaddr(const sockaddr_storage& address);
sockaddr_storage to_sockaddr(const SocketAddress& address);

}  // namespace softrnic::cma
