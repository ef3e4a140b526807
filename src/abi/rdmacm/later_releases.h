// What rdma_cma.h has since rdma-core 60, under names of our own: the headers that we are built with may be
// older, or have it. Its functions are defined with SOFTRNIC_VERSIONED for the same reason.
#pragma once

#include <rdma/rdma_cma.h>

#include <cstdint>

namespace softrnic::rdmacm {

// enum rdma_cm_event_type
inline constexpr std::uint32_t kEventAddressInfoResolved = 16;
inline constexpr std::uint32_t kEventAddressInfoError = 17;
inline constexpr std::uint32_t kEventUser = 18;
static_assert(kEventAddressInfoResolved == RDMA_CM_EVENT_TIMEWAIT_EXIT + 1);

// rdma_addrinfo::ai_flags
inline constexpr int kResolveBySubnetAdministrator = 0x10;  ///< RAI_SA
inline constexpr int kResolveByDns = 0x20;                  ///< RAI_DNS, as if none of the two were set

// rdma_cm_event::param has got a third member, an std::uint64_t.
static_assert(sizeof(rdma_cm_event::param) >= sizeof(std::uint64_t) &&
              alignof(decltype(rdma_cm_event::param)) >= alignof(std::uint64_t));

}  // namespace softrnic::rdmacm
