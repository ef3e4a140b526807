// The texts of events. Programs print them, so they are those of librdmacm to the letter.
#include <rdma/rdma_cma.h>

#include <array>

#include "abi/enumeration.h"
#include "abi/export.h"
#include "abi/rdmacm/later_releases.h"

namespace {

#define NAME(event) #event
constexpr std::array kEvents = {
    NAME(RDMA_CM_EVENT_ADDR_RESOLVED),     NAME(RDMA_CM_EVENT_ADDR_ERROR),
    NAME(RDMA_CM_EVENT_ROUTE_RESOLVED),    NAME(RDMA_CM_EVENT_ROUTE_ERROR),
    NAME(RDMA_CM_EVENT_CONNECT_REQUEST),   NAME(RDMA_CM_EVENT_CONNECT_RESPONSE),
    NAME(RDMA_CM_EVENT_CONNECT_ERROR),     NAME(RDMA_CM_EVENT_UNREACHABLE),
    NAME(RDMA_CM_EVENT_REJECTED),          NAME(RDMA_CM_EVENT_ESTABLISHED),
    NAME(RDMA_CM_EVENT_DISCONNECTED),      NAME(RDMA_CM_EVENT_DEVICE_REMOVAL),
    NAME(RDMA_CM_EVENT_MULTICAST_JOIN),    NAME(RDMA_CM_EVENT_MULTICAST_ERROR),
    NAME(RDMA_CM_EVENT_ADDR_CHANGE),       NAME(RDMA_CM_EVENT_TIMEWAIT_EXIT),
    NAME(RDMA_CM_EVENT_ADDRINFO_RESOLVED), NAME(RDMA_CM_EVENT_ADDRINFO_ERROR),
};
#undef NAME
// librdmacm of rdma-core 60 to 65 has no text for those of the program itself either.
static_assert(kEvents.size() == softrnic::rdmacm::kEventAddressInfoError + 1);

}  // namespace

SOFTRNIC_EXPORT const char* rdma_event_str(rdma_cm_event_type event) {
  const auto index = static_cast<std::size_t>(softrnic::abi::number_of(event));
  return index < kEvents.size() ? kEvents[index] : "UNKNOWN EVENT";
}
