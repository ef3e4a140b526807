#include "rsocket/inet_address.h"

#include <infiniband/ib.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <string_view>

#include "base/bytes.h"
#include "base/reason_id.h"

namespace softrnic::rsocket {
namespace {

constexpr std::array<std::byte, kIpv4At> kMapped{
    {{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, std::byte{0xff}, std::byte{0xff}}};

}  // namespace

socklen_t size_of(const sockaddr& address) {
  if (address.sa_family == AF_IB) return sizeof(sockaddr_ib);
  return address.sa_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
}

Result<void> give_name(const sockaddr& name, sockaddr* address, socklen_t* length) {
  if (address == nullptr || length == nullptr) return refused(EFAULT, ReasonId::null_argument);
  std::memcpy(address, &name, std::min(*length, size_of(name)));
  *length = size_of(name);
  return {};
}

Result<void> known_address(const sockaddr* address, socklen_t length, Addresses taken) {
  if (address == nullptr) return refused(EFAULT, ReasonId::null_argument);
  if (length < sizeof(sockaddr_in)) return fail(EINVAL);
  const bool is_ip = address->sa_family == AF_INET || address->sa_family == AF_INET6;
  if (!is_ip && !(taken == Addresses::ip_or_gid && address->sa_family == AF_IB)) return fail(EAFNOSUPPORT);
  if (length < size_of(*address)) return fail(EINVAL);
  return {};
}

InetAddress InetAddress::of(const sockaddr& address) {
  if (address.sa_family == AF_INET) {
    sockaddr_in v4;
    std::memcpy(&v4, &address, sizeof v4);
    return ipv4(reinterpret_cast<const std::byte*>(&v4.sin_addr), ntohs(v4.sin_port));
  }
  InetAddress out;
  if (address.sa_family == AF_IB) {
    sockaddr_ib gid;
    std::memcpy(&gid, &address, sizeof gid);
    std::memcpy(out.host.data(), &gid.sib_addr, out.host.size());
    out.port = static_cast<std::uint16_t>(be64toh(gid.sib_sid));  // the service ID's end, of an IP port space
    return out;
  }
  sockaddr_in6 v6;
  std::memcpy(&v6, &address, sizeof v6);
  std::memcpy(out.host.data(), &v6.sin6_addr, out.host.size());
  out.port = ntohs(v6.sin6_port);
  if (out.is_link_local()) out.scope = v6.sin6_scope_id;
  return out;
}

InetAddress InetAddress::ipv4(const std::byte* host, std::uint16_t port) {
  InetAddress out;
  std::ranges::copy(kMapped, out.host.begin());
  std::copy_n(host, 4, &out.host[kIpv4At]);
  out.port = port;
  return out;
}

InetAddress InetAddress::loopback() const {
  InetAddress out = *this;
  if (is_ipv4()) {
    const std::uint32_t loopback = htonl(INADDR_LOOPBACK);
    std::memcpy(&out.host[kIpv4At], &loopback, sizeof loopback);
  } else {
    std::memcpy(out.host.data(), &in6addr_loopback, out.host.size());
  }
  return out;
}

bool InetAddress::is_ipv4() const { return std::memcmp(host.data(), kMapped.data(), kMapped.size()) == 0; }

bool InetAddress::is_any() const {
  const auto first = is_ipv4() ? host.begin() + kIpv4At : host.begin();
  return std::all_of(first, host.end(), [](std::byte byte) { return byte == std::byte{}; });
}

bool InetAddress::is_loopback() const {
  if (is_ipv4()) return host[kIpv4At] == std::byte{127};
  return std::memcmp(host.data(), &in6addr_loopback, host.size()) == 0;
}

bool InetAddress::is_link_local() const {
  return host[0] == std::byte{0xfe} && (host[1] & std::byte{0xc0}) == std::byte{0x80};
}

sockaddr_storage InetAddress::as(int family) const {
  sockaddr_storage out{};
  if (family == AF_INET) {
    sockaddr_in v4{};
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port);
    if (is_ipv4()) std::memcpy(&v4.sin_addr, &host[kIpv4At], sizeof v4.sin_addr);
    std::memcpy(&out, &v4, sizeof v4);
  } else {
    sockaddr_in6 v6{};
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port);
    v6.sin6_scope_id = scope;
    std::memcpy(&v6.sin6_addr, host.data(), host.size());
    std::memcpy(&out, &v6, sizeof v6);
  }
  return out;
}

std::size_t InetAddressHash::operator()(const InetAddress& address) const {
  const std::string_view host(reinterpret_cast<const char*>(address.host.data()), address.host.size());
  return std::hash<std::string_view>()(host) * 31 + address.port + address.scope * 65537;
}

}  // namespace softrnic::rsocket
