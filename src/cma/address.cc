#include "cma/address.h"

#include <infiniband/ib.h>
#include <netinet/in.h>

#include <cstring>

#include "base/bytes.h"

namespace softrnic::cma {
namespace {

constexpr std::uint64_t kPortMask = 0xffff;

wire::Gid wildcard_of(Family family) {
  return family == Family::ipv4 ? wire::Gid::from_ipv4_be(0) : wire::Gid{};
}

SocketAddress from_ipv4(const sockaddr_storage& storage) {
  sockaddr_in in;
  std::memcpy(&in, &storage, sizeof in);
  SocketAddress address;
  address.family = Family::ipv4;
  address.host = wire::Gid::from_ipv4_be(in.sin_addr.s_addr);
  address.port = ntohs(in.sin_port);
  return address;
}

SocketAddress from_ipv6(const sockaddr_storage& storage) {
  sockaddr_in6 in;
  std::memcpy(&in, &storage, sizeof in);
  SocketAddress address;
  address.family = Family::ipv6;
  std::memcpy(address.host.raw.data(), &in.sin6_addr, address.host.raw.size());
  address.port = ntohs(in.sin6_port);
  address.scope = in.sin6_scope_id;
  address.flow_info = ntohl(in.sin6_flowinfo);
  return address;
}

SocketAddress from_ib(const sockaddr_storage& storage) {
  sockaddr_ib in;
  std::memcpy(&in, &storage, sizeof in);
  SocketAddress address;
  address.family = Family::ib;
  std::memcpy(address.host.raw.data(), &in.sib_addr, address.host.raw.size());
  address.pkey = ntohs(in.sib_pkey);
  address.flow_info = ntohl(in.sib_flowinfo);
  address.service_id = __builtin_bswap64(in.sib_sid);
  address.service_mask = __builtin_bswap64(in.sib_sid_mask);
  address.scope = static_cast<std::uint32_t>(in.sib_scope_id);
  address.port = static_cast<std::uint16_t>(address.service_id & address.service_mask & kPortMask);
  return address;
}

template <typename Sockaddr>
sockaddr_storage store(const Sockaddr& address) {
  sockaddr_storage storage{};
  std::memcpy(&storage, &address, sizeof address);
  return storage;
}

}  // namespace

bool SocketAddress::is_any() const {
  // A GID may be made of the wildcard of IPv4: rdma_getaddrinfo with RAI_FAMILY and AF_IB does so.
  if (family == Family::ib && host == wildcard_of(Family::ipv4)) return true;
  return !empty() && host == wildcard_of(family);
}

bool SocketAddress::is_loopback() const {
  if (family == Family::ipv4 || (family == Family::ipv6 && host.is_ipv4()))
    return host.raw[12] == std::byte{127};
  return family != Family::none && host == loopback(family).host;
}

bool SocketAddress::same_host(const SocketAddress& other) const {
  return family == other.family && host == other.host && (!is_link_local() || scope == other.scope);
}

SocketAddress SocketAddress::with_port(std::uint16_t number) const {
  SocketAddress changed = *this;
  changed.port = number;
  if (family == Family::ib) {
    changed.service_id = (service_id & service_mask & ~kPortMask) | number;
    changed.service_mask = ~std::uint64_t{0};
  }
  return changed;
}

SocketAddress SocketAddress::any(Family family) {
  SocketAddress address;
  address.family = family;
  address.host = wildcard_of(family);
  return address;
}

SocketAddress SocketAddress::loopback(Family family) {
  SocketAddress address;
  address.family = family;
  if (family == Family::ipv4) {
    address.host = wire::Gid::from_ipv4_be(htonl(INADDR_LOOPBACK));
  } else {
    address.host.raw[15] = std::byte{1};
  }
  return address;
}

std::optional<SocketAddress> from_sockaddr(const sockaddr_storage& address) {
  switch (address.ss_family) {
    case AF_UNSPEC:
      return SocketAddress{};
    case AF_INET:
      return from_ipv4(address);
    case AF_INET6:
      return from_ipv6(address);
    case AF_IB:
      return from_ib(address);
    default:
      return std::nullopt;
  }
}

sockaddr_storage to_sockaddr(const SocketAddress& address) {
  switch (address.family) {
    case Family::none:
      break;
    case Family::ipv4: {
      sockaddr_in out{};
      out.sin_family = AF_INET;
      out.sin_port = htons(address.port);
      out.sin_addr.s_addr = address.host.ipv4_be();
      return store(out);
    }
    case Family::ipv6: {
      sockaddr_in6 out{};
      out.sin6_family = AF_INET6;
      out.sin6_port = htons(address.port);
      out.sin6_flowinfo = htonl(address.flow_info);
      out.sin6_scope_id = address.scope;
      std::memcpy(&out.sin6_addr, address.host.raw.data(), sizeof out.sin6_addr);
      return store(out);
    }
    case Family::ib: {
      sockaddr_ib out{};
      out.sib_family = AF_IB;
      out.sib_pkey = htons(address.pkey);
      out.sib_flowinfo = htonl(address.flow_info);
      std::memcpy(&out.sib_addr, address.host.raw.data(), sizeof out.sib_addr);
      out.sib_sid = __builtin_bswap64(address.service_id);
      out.sib_sid_mask = __builtin_bswap64(address.service_mask);
      out.sib_scope_id = address.scope;
      return store(out);
    }
  }
  return {};
}

}  // namespace softrnic::cma
