// Addresses of the internet as rsockets take and give them: sockaddr of a program, and one value for both
// families.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "rsocket/result.h"

namespace softrnic::rsocket {

/// By its family: IPv4, IPv6 or AF_IB.
socklen_t size_of(const sockaddr& address);
/// Gives `name` to a program, cut to what it has room for, with its size. EFAULT.
Result<void> give_name(const sockaddr& name, sockaddr* address, socklen_t* length);
enum class Addresses : std::uint8_t { ip, ip_or_gid };  ///< IPv4 and IPv6; AF_IB too
/// EFAULT, EINVAL: too short; EAFNOSUPPORT: not of the kinds that are taken.
Result<void> known_address(const sockaddr* address, socklen_t length, Addresses taken = Addresses::ip);

inline constexpr std::size_t kIpv4At = 12;  ///< where IPv4 begins in a mapped address

/// Host and port. IPv4 is ::ffff:a.b.c.d, as in GIDs, so that a host is one value on sockets of all families.
struct InetAddress {
  std::array<std::byte, 16> host{};
  std::uint16_t port = 0;   ///< host order
  std::uint32_t scope = 0;  ///< interface index, of link-local addresses only

  /// Of what known_address() has let through. Of a GID the port is that of its service ID.
  static InetAddress of(const sockaddr& address);
  static InetAddress ipv4(const std::byte* host, std::uint16_t port);

  /// The loopback address of the same family and port.
  InetAddress loopback() const;

  bool is_ipv4() const;
  bool is_any() const;
  bool is_loopback() const;
  bool is_link_local() const;
  bool same_host(const InetAddress& other) const { return host == other.host && scope == other.scope; }
  bool operator==(const InetAddress&) const = default;

  /// As a socket of `family` knows it; an IPv6 address on a socket of AF_INET has no such form: the wildcard.
  sockaddr_storage as(int family) const;
  /// In the form of its own.
  sockaddr_storage as_own() const { return as(is_ipv4() ? AF_INET : AF_INET6); }
};

struct InetAddressHash {
  std::size_t operator()(const InetAddress& address) const;
};

inline sockaddr* generic(sockaddr_storage& address) { return reinterpret_cast<sockaddr*>(&address); }
inline const sockaddr& generic(const sockaddr_storage& address) {
  return reinterpret_cast<const sockaddr&>(address);
}

}  // namespace softrnic::rsocket
