// What the test programs of rdma_cm share: checks that end the program, and waiting for an event.
#pragma once

#include <rdma/rdma_cma.h>

#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace interop {

inline void require(bool ok, const char* what) {
  if (ok) return;
  std::fprintf(stderr, "%s failed: %s\n", what, errno != 0 ? std::strerror(errno) : "no errno");
  std::exit(1);
}

/// A number given on the command line.
inline std::uint32_t number(const char* text) {
  std::uint32_t value = 0;
  const char* end = text + std::strlen(text);
  const auto [stop, error] = std::from_chars(text, end, value);
  require(error == std::errc() && stop == end, "reading a number");
  return value;
}

/// The next event of the channel, which must be `expected`. The caller acknowledges it.
inline rdma_cm_event* next_event(rdma_event_channel* channel, rdma_cm_event_type expected) {
  rdma_cm_event* event = nullptr;
  require(rdma_get_cm_event(channel, &event) == 0, "rdma_get_cm_event");
  if (event->event != expected || event->status != 0) {
    std::fprintf(stderr, "expected %s, got %s, status %d\n", rdma_event_str(expected),
                 rdma_event_str(event->event), event->status);
    std::exit(1);
  }
  return event;
}

inline void wait_event(rdma_event_channel* channel, rdma_cm_event_type expected) {
  require(rdma_ack_cm_event(next_event(channel, expected)) == 0, "rdma_ack_cm_event");
}

/// Starts an id of the active side on its way: address and route resolved.
inline rdma_cm_id* resolve(rdma_event_channel* channel, const char* host, const char* port) {
  rdma_cm_id* id = nullptr;
  require(rdma_create_id(channel, &id, nullptr, RDMA_PS_TCP) == 0, "rdma_create_id");
  rdma_addrinfo hints{};
  hints.ai_port_space = RDMA_PS_TCP;
  rdma_addrinfo* found = nullptr;
  require(rdma_getaddrinfo(host, port, &hints, &found) == 0, "rdma_getaddrinfo");
  require(rdma_resolve_addr(id, nullptr, found->ai_dst_addr, 2000) == 0, "rdma_resolve_addr");
  rdma_freeaddrinfo(found);
  wait_event(channel, RDMA_CM_EVENT_ADDR_RESOLVED);
  require(rdma_resolve_route(id, 2000) == 0, "rdma_resolve_route");
  wait_event(channel, RDMA_CM_EVENT_ROUTE_RESOLVED);
  return id;
}

/// A listener on every address, IPv4 and IPv6.
inline rdma_cm_id* listen_on(rdma_event_channel* channel, std::uint16_t port) {
  rdma_cm_id* id = nullptr;
  require(rdma_create_id(channel, &id, nullptr, RDMA_PS_TCP) == 0, "rdma_create_id");
  sockaddr_in6 any{};
  any.sin6_family = AF_INET6;
  any.sin6_port = htons(port);
  require(rdma_bind_addr(id, reinterpret_cast<sockaddr*>(&any)) == 0, "rdma_bind_addr");
  require(rdma_listen(id, 16) == 0, "rdma_listen");
  require(ntohs(rdma_get_src_port(id)) == port, "rdma_get_src_port");
  return id;
}

}  // namespace interop
