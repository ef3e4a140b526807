// Addresses, routes, options and listening.
#include "abi/rdmacm/addresses.h"

#include <infiniband/ib.h>
#include <rdma/rdma_cma.h>

#include <cerrno>
#include <cstring>
#include <span>

#include "abi/calls.h"
#include "abi/export.h"
#include "abi/rdmacm/events.h"
#include "base/reason_id.h"

namespace softrnic::rdmacm {

std::size_t address_length(int family) {
  switch (family) {
    case AF_INET:
      return sizeof(sockaddr_in);
    case AF_INET6:
      return sizeof(sockaddr_in6);
    case AF_IB:
      return sizeof(sockaddr_ib);
    default:
      return 0;
  }
}

Expected<sockaddr_storage, Failure> checked_address(const sockaddr* address) {
  if (address == nullptr) return abi::null_argument();
  const std::size_t length = address_length(address->sa_family);
  if (length == 0) return rnic::refused(EINVAL, ReasonId::rdma_bad_address, address->sa_family);
  sockaddr_storage storage{};
  std::memcpy(&storage, address, length);
  return storage;
}

std::uint16_t port_of(const sockaddr_storage& address) {
  sockaddr_ib ib;
  switch (address.ss_family) {
    case AF_INET:
      return reinterpret_cast<const sockaddr_in&>(address).sin_port;
    case AF_INET6:
      return reinterpret_cast<const sockaddr_in6&>(address).sin6_port;
    case AF_IB:
      std::memcpy(&ib, &address, sizeof ib);
      return htobe16(static_cast<std::uint16_t>(be64toh(ib.sib_sid)));
    default:
      return 0;
  }
}

Expected<void, Failure> bind(Id& id, const sockaddr* address) {
  const auto checked = checked_address(address);
  if (!checked) return Unexpected{checked.error()};
  const auto record = id.session->heard(id.session->daemon.bind(id.number, *checked));
  if (!record) return Unexpected{record.error()};
  return id.adopt(*record);
}

Expected<void, Failure> resolve_address(Id& id, const sockaddr* source, const sockaddr* destination,
                                        int timeout_ms) {
  const auto to = checked_address(destination);
  if (!to) return Unexpected{to.error()};
  sockaddr_storage from{};
  if (source != nullptr) {
    const auto checked = checked_address(source);
    if (!checked) return Unexpected{checked.error()};
    from = *checked;
  }
  id.route.addr.dst_storage = *to;
  return start(id, [&](control::CmClient& daemon) {
    return daemon.resolve_address(id.number, from, *to, static_cast<std::uint32_t>(timeout_ms));
  });
}

Expected<void, Failure> resolve_route(Id& id, int timeout_ms) {
  if (auto bound = id.require_device(); !bound) return bound;
  return start(id, [&](control::CmClient& daemon) {
    return daemon.resolve_route(id.number, static_cast<std::uint32_t>(timeout_ms));
  });
}

Expected<void, Failure> set_option(Id& id, int level, int option, const void* value, std::size_t length) {
  if (value == nullptr && length != 0) return abi::null_argument();
  if (length > control::kCmOptionSize)
    return rnic::refused(EINVAL, ReasonId::rdma_option_size, length, control::kCmOptionSize);
  return id.session->heard(id.session->daemon.set_option(
      id.number, static_cast<std::uint32_t>(level), static_cast<std::uint32_t>(option),
      std::span(static_cast<const std::uint8_t*>(value), length)));
}

namespace {

Expected<void, Failure> listen(Id& id, int backlog) {
  const auto listening = id.session->heard(id.session->daemon.listen(id.number, backlog));
  if (!listening) return listening;
  const auto record = id.session->heard(id.session->daemon.query_id(id.number));
  if (!record) return Unexpected{record.error()};
  return id.adopt(*record);
}

}  // namespace
}  // namespace softrnic::rdmacm

using namespace softrnic;
using namespace softrnic::rdmacm;

SOFTRNIC_EXPORT int rdma_bind_addr(rdma_cm_id* id, sockaddr* addr) {
  return abi::minus_one_call([&]() -> Expected<void, Failure> {
    if (id == nullptr) return abi::null_argument();
    return bind(*Id::of(id), addr);
  });
}

SOFTRNIC_EXPORT int rdma_resolve_addr(rdma_cm_id* id, sockaddr* src_addr, sockaddr* dst_addr,
                                      int timeout_ms) {
  return abi::minus_one_call([&]() -> Expected<void, Failure> {
    if (id == nullptr) return abi::null_argument();
    return resolve_address(*Id::of(id), src_addr, dst_addr, timeout_ms);
  });
}

SOFTRNIC_EXPORT int rdma_resolve_route(rdma_cm_id* id, int timeout_ms) {
  return abi::minus_one_call([&]() -> Expected<void, Failure> {
    if (id == nullptr) return abi::null_argument();
    return resolve_route(*Id::of(id), timeout_ms);
  });
}

SOFTRNIC_EXPORT int rdma_listen(rdma_cm_id* id, int backlog) {
  return abi::minus_one_call([&]() -> Expected<void, Failure> {
    if (id == nullptr) return abi::null_argument();
    return listen(*Id::of(id), backlog);
  });
}

SOFTRNIC_EXPORT int rdma_set_option(rdma_cm_id* id, int level, int optname, void* optval, size_t optlen) {
  return abi::minus_one_call([&]() -> Expected<void, Failure> {
    if (id == nullptr) return abi::null_argument();
    return set_option(*Id::of(id), level, optname, optval, optlen);
  });
}

SOFTRNIC_EXPORT __be16 rdma_get_src_port(rdma_cm_id* id) {
  return id == nullptr ? 0 : port_of(id->route.addr.src_storage);
}

SOFTRNIC_EXPORT __be16 rdma_get_dst_port(rdma_cm_id* id) {
  return id == nullptr ? 0 : port_of(id->route.addr.dst_storage);
}
