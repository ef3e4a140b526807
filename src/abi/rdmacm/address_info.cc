// rdma_getaddrinfo: names and services to addresses of librdmacm. Routes come later, with rdma_resolve_route:
// RoCE has no subnet administrator that could be asked for them here.
#include "abi/rdmacm/address_info.h"

#include <infiniband/ib.h>
#include <netdb.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "abi/calls.h"
#include "abi/export.h"
#include "abi/rdmacm/addresses.h"
#include "abi/rdmacm/later_releases.h"
#include "base/reason_id.h"

namespace softrnic::rdmacm {
namespace {

struct FreeResolved {
  void operator()(addrinfo* info) const { freeaddrinfo(info); }
};

/// Where an address of rdma_addrinfo goes.
struct Place {
  sockaddr*& address;
  socklen_t& length;
  char*& name;
};
Place source_of(rdma_addrinfo& info) { return {info.ai_src_addr, info.ai_src_len, info.ai_src_canonname}; }
Place destination_of(rdma_addrinfo& info) {
  return {info.ai_dst_addr, info.ai_dst_len, info.ai_dst_canonname};
}

Expected<void, Failure> copy_address(const Place& to, const void* from, socklen_t length) {
  to.address = static_cast<sockaddr*>(std::malloc(length));
  if (to.address == nullptr) return abi::out_of_memory();
  std::memcpy(static_cast<void*>(to.address), from, length);
  to.length = length;
  return {};
}

struct PortSpace {
  int qp_type, port_space, socket_type, protocol;
};
// The first row of a QP type or port space is what it stands for when the other is not given.
constexpr PortSpace kPortSpaces[] = {
    {IBV_QPT_RC, RDMA_PS_TCP, SOCK_STREAM, IPPROTO_TCP},
    {IBV_QPT_UD, RDMA_PS_UDP, SOCK_DGRAM, IPPROTO_UDP},
    {IBV_QPT_UD, RDMA_PS_IPOIB, SOCK_DGRAM, IPPROTO_UDP},
    {IBV_QPT_UC, RDMA_PS_IB, SOCK_STREAM, IPPROTO_TCP},
    {IBV_QPT_XRC_SEND, RDMA_PS_TCP, SOCK_STREAM, IPPROTO_TCP},
    {IBV_QPT_XRC_RECV, RDMA_PS_TCP, SOCK_STREAM, IPPROTO_TCP},
};

addrinfo hints_for_names(const rdma_addrinfo& hints) {
  addrinfo out{};
  if ((hints.ai_flags & RAI_PASSIVE) != 0) out.ai_flags |= AI_PASSIVE;
  if ((hints.ai_flags & RAI_NUMERICHOST) != 0) out.ai_flags |= AI_NUMERICHOST;
  if (hints.ai_family != AF_IB) out.ai_family = hints.ai_family;
  for (const PortSpace& row : kPortSpaces) {
    if (out.ai_socktype == 0 && row.qp_type == hints.ai_qp_type) out.ai_socktype = row.socket_type;
    if (out.ai_protocol == 0 && row.port_space == hints.ai_port_space) out.ai_protocol = row.protocol;
  }
  if (hints.ai_port_space == RDMA_PS_IB)  // which has both; the QP type says which
    out.ai_protocol = out.ai_socktype == SOCK_STREAM  ? IPPROTO_TCP
                      : out.ai_socktype == SOCK_DGRAM ? IPPROTO_UDP
                                                      : 0;
  return out;
}

void set_types(rdma_addrinfo& info, const rdma_addrinfo& hints, const addrinfo& resolved) {
  info.ai_qp_type = hints.ai_qp_type;
  info.ai_port_space = hints.ai_port_space;
  for (const PortSpace& row : kPortSpaces) {
    if (info.ai_qp_type == 0 && row.socket_type == resolved.ai_socktype) info.ai_qp_type = row.qp_type;
    if (info.ai_port_space == 0 && row.protocol == resolved.ai_protocol) info.ai_port_space = row.port_space;
  }
}

/// A GID, or an IPv4 address as the GID of a RoCE port; the service ID is that of the port in its port space.
sockaddr_ib as_gid(const addrinfo& resolved, int port_space) {
  sockaddr_storage address{};
  std::memcpy(&address, resolved.ai_addr, resolved.ai_addrlen);
  sockaddr_ib out{};
  out.sib_family = AF_IB;
  out.sib_pkey = htobe16(0xffff);
  if (address.ss_family == AF_INET) {
    ib_addr_set(&out.sib_addr, 0, 0, htobe32(0xffff),
                reinterpret_cast<const sockaddr_in&>(address).sin_addr.s_addr);
  } else {
    const auto& ipv6 = reinterpret_cast<const sockaddr_in6&>(address);
    std::memcpy(out.sib_addr.sib_raw, &ipv6.sin6_addr, sizeof ipv6.sin6_addr);
    out.sib_flowinfo = ipv6.sin6_flowinfo;
    out.sib_scope_id = ipv6.sin6_scope_id;
  }
  const std::uint16_t port = be16toh(port_of(address));
  out.sib_sid = htobe64((static_cast<std::uint64_t>(port_space) << 16) + port);
  out.sib_sid_mask =
      htobe64((port_space != 0 ? RDMA_IB_IP_PS_MASK : 0) | (port != 0 ? RDMA_IB_IP_PORT_MASK : 0));
  return out;
}

Expected<void, Failure> take_over(rdma_addrinfo& info, const rdma_addrinfo& hints, const addrinfo& resolved) {
  constexpr int kGid = RAI_FAMILY | RAI_NUMERICHOST;
  set_types(info, hints, resolved);
  info.ai_flags = hints.ai_flags & RAI_PASSIVE;
  const Place place = info.ai_flags != 0 ? source_of(info) : destination_of(info);
  if (resolved.ai_canonname != nullptr) place.name = strdup(resolved.ai_canonname);
  if (hints.ai_family == AF_IB && (hints.ai_flags & kGid) == kGid) {
    info.ai_family = AF_IB;
    const sockaddr_ib gid = as_gid(resolved, info.ai_port_space);
    return copy_address(place, &gid, sizeof gid);
  }
  info.ai_family = resolved.ai_family;
  return copy_address(place, resolved.ai_addr, resolved.ai_addrlen);
}

/// 0, or an EAI code.
Expected<int, Failure> resolve_names(rdma_addrinfo& info, const InfoQuestion& question, int flags) {
  constexpr rdma_addrinfo kNone{};
  const bool hinted = question.hints != nullptr;
  const rdma_addrinfo& hints = hinted ? *question.hints : kNone;
  addrinfo* found = nullptr;
  addrinfo wanted = hints_for_names(hints);
  if (!hinted) wanted.ai_flags = AI_V4MAPPED | AI_ADDRCONFIG;  // what no hints stand for
  wanted.ai_flags |= flags;
  const int code = getaddrinfo(question.node, question.service, &wanted, &found);
  if (code != 0) return code;
  const std::unique_ptr<addrinfo, FreeResolved> resolved(found);
  const auto taken = take_over(info, hints, *resolved);
  if (!taken) return Unexpected{taken.error()};
  return 0;
}

Expected<void, Failure> copy_hints(rdma_addrinfo& info, const rdma_addrinfo& hints) {
  info.ai_flags = hints.ai_flags;
  info.ai_family = hints.ai_family;
  info.ai_qp_type = hints.ai_qp_type;
  info.ai_port_space = hints.ai_port_space;
  if (hints.ai_dst_len == 0) return {};
  return copy_address(destination_of(info), hints.ai_dst_addr, hints.ai_dst_len);
}

}  // namespace

Expected<bool, Failure> is_for_subnet_administrator(const InfoQuestion& question) {
  const int flags = question.hints == nullptr ? 0 : question.hints->ai_flags;
  if ((flags & kResolveBySubnetAdministrator) == 0) return false;
  if (question.node != nullptr || (flags & kResolveByDns) != 0)
    return rnic::refused(EOPNOTSUPP, ReasonId::rdma_service_records);
  if (question.service == nullptr) return abi::null_argument();
  return true;
}

Expected<int, Failure> resolve(const InfoQuestion& question, int flags, Info& out) {
  const auto [node, service, hints] = question;
  if (node == nullptr && service == nullptr && hints == nullptr) return abi::null_argument();
  Info info(static_cast<rdma_addrinfo*>(std::calloc(1, sizeof(rdma_addrinfo))));
  if (!info) return abi::out_of_memory();
  if (node != nullptr || service != nullptr) {
    auto code = resolve_names(*info, question, flags);
    if (!code || *code != 0) return code;
  } else if (const auto copied = copy_hints(*info, *hints); !copied) {
    return Unexpected{copied.error()};
  }
  if (hints != nullptr && info->ai_src_len == 0 && hints->ai_src_len != 0) {
    const auto copied = copy_address(source_of(*info), hints->ai_src_addr, hints->ai_src_len);
    if (!copied) return Unexpected{copied.error()};
  }
  out = std::move(info);
  return 0;
}

namespace {

Expected<int, Failure> get_info(const InfoQuestion& question, rdma_addrinfo** out) {
  if (out == nullptr) return abi::null_argument();
  if (const auto session = current_session(); !session) return Unexpected{session.error()};
  const auto elsewhere = is_for_subnet_administrator(question);
  if (!elsewhere) return Unexpected{elsewhere.error()};
  if (*elsewhere) return rnic::refused(ENOENT, ReasonId::rdma_service_records);
  Info info;
  auto code = resolve(question, 0, info);
  if (code && *code == 0) *out = info.release();
  return code;
}

}  // namespace
}  // namespace softrnic::rdmacm

using namespace softrnic;
using namespace softrnic::rdmacm;

SOFTRNIC_EXPORT int rdma_getaddrinfo(const char* node, const char* service, const rdma_addrinfo* hints,
                                     rdma_addrinfo** res) {
  int code = 0;
  const int failed = abi::minus_one_call([&]() -> Expected<void, Failure> {
    const auto resolved = get_info({node, service, hints}, res);
    if (!resolved) return Unexpected{resolved.error()};
    code = *resolved;
    return {};
  });
  return failed != 0 ? failed : code;
}

SOFTRNIC_EXPORT void rdma_freeaddrinfo(rdma_addrinfo* res) {
  while (res != nullptr) {
    rdma_addrinfo* const info = std::exchange(res, res->ai_next);
    for (void* part : {info->ai_connect, info->ai_route}) std::free(part);
    for (char* name : {info->ai_src_canonname, info->ai_dst_canonname}) std::free(name);
    for (sockaddr* address : {info->ai_src_addr, info->ai_dst_addr}) std::free(address);
    std::free(info);
  }
}
