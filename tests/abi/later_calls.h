// What librdmacm has since rdma-core 60, under names of our own: the headers of this host may be older, or
// have it.
#pragma once

#include <rdma/rdma_cma.h>
#include <sys/epoll.h>

#include <cstdint>
#include <cstring>

namespace softrnic::abi_test::later {

extern "C" {
int resolve_addrinfo(rdma_cm_id* id, const char* node, const char* service,
                     const rdma_addrinfo* hints) __asm__("rdma_resolve_addrinfo");
int query_addrinfo(rdma_cm_id* id, rdma_addrinfo** info) __asm__("rdma_query_addrinfo");
int write_cm_event(rdma_cm_id* id, std::uint32_t event, int status,
                   std::uint64_t arg) __asm__("rdma_write_cm_event");
int repoll_create(int flags) __asm__("repoll_create");
int repoll_ctl(int epfd, int op, int fd, epoll_event* event) __asm__("repoll_ctl");
int repoll_wait(int epfd, epoll_event* events, int maxevents, int timeout) __asm__("repoll_wait");
}

// enum rdma_cm_event_type
constexpr std::uint32_t kAddrinfoResolved = 16, kAddrinfoError = 17, kUser = 18, kInternal = 19;
// rdma_addrinfo::ai_flags
constexpr int kSa = 0x10, kDns = 0x20;

/// What C++ may not look at as an enumerator that older headers do not have.
inline std::uint32_t type_of(const rdma_cm_event& event) {
  std::uint32_t type = 0;
  std::memcpy(&type, &event.event, sizeof type);
  return type;
}

/// rdma_cm_event::param.arg
inline std::uint64_t argument_of(const rdma_cm_event& event) {
  std::uint64_t argument = 0;
  std::memcpy(&argument, &event.param, sizeof argument);
  return argument;
}

}  // namespace softrnic::abi_test::later
