#include "rsocket/path_resolver.h"

#include <algorithm>

#include "base/reason_id.h"

namespace softrnic::rsocket {
namespace {

using std::chrono::steady_clock;

constexpr int kTimeoutMs = 2000;
constexpr std::chrono::seconds kPause{1};

/// The payload of UD is one packet (IBTA 9.8.3).
std::size_t packet_room(std::uint8_t mtu) {
  const bool known = mtu >= IBV_MTU_256 && mtu <= IBV_MTU_4096;
  return known ? std::min(std::size_t{128} << mtu, kDatagramRoom) : 0;
}

}  // namespace

void PathResolver::want_path(Destination& destination) {
  if (destination.handle != nullptr || destination.resolving != nullptr || destination.qpn == 0) return;
  if (steady_clock::now() < destination.not_before) return;
  if (auto begun = begin(destination); !begun) end(destination, begun);
}

Result<void> PathResolver::begin(Destination& destination) {
  rdma_cm_id* id = nullptr;
  if (rdma_create_id(channel_.get(), &id, &destination, RDMA_PS_UDP) != 0) return fail_errno();
  destination.resolving.reset(id);
  ++resolving_;
  InetAddress any_port = destination.from->local();
  any_port.port = 0;
  sockaddr_storage from = any_port.as_own();
  sockaddr_storage to = destination.address.as_own();
  if (rdma_resolve_addr(id, generic(from), generic(to), kTimeoutMs) != 0) return fail_errno();
  return {};
}

void PathResolver::take_events() {
  while (resolving_ > 0) {
    rdma_cm_event* taken = nullptr;
    if (rdma_get_cm_event(channel_.get(), &taken) != 0) return;
    EventPtr event(taken);
    auto& destination = *static_cast<Destination*>(event->id->context);
    const rdma_cm_event_type type = event->event;
    const int status = event->status;
    event.reset();  // an id does not go before its events
    const auto done = take_event(destination, type, status);
    if (!done || destination.handle != nullptr) end(destination, done);
  }
}

Result<void> PathResolver::take_event(Destination& destination, rdma_cm_event_type event, int status) {
  switch (event) {
    case RDMA_CM_EVENT_ADDR_RESOLVED:
      if (rdma_resolve_route(destination.resolving.get(), kTimeoutMs) != 0) return fail_errno();
      return {};
    case RDMA_CM_EVENT_ROUTE_RESOLVED:
      return take_route(destination);
    case RDMA_CM_EVENT_ADDR_ERROR:
    case RDMA_CM_EVENT_ROUTE_ERROR:
      return fail(status < 0 ? -status : EHOSTUNREACH);
    default:
      return {};
  }
}

Result<void> PathResolver::take_route(Destination& destination) {
  const rdma_route& route = destination.resolving->route;
  if (route.num_paths < 1 || route.path_rec == nullptr) return fail(ENETUNREACH);
  auto handle = destination.from->address_handle(*route.path_rec);
  if (!handle) return fail(handle.error());
  destination.handle = std::move(*handle);
  destination.most = packet_room(route.path_rec->mtu);
  return {};
}

void PathResolver::end(Destination& destination, const Result<void>& outcome) {
  if (destination.resolving != nullptr) --resolving_;
  destination.resolving.reset();
  if (outcome) return;
  destination.not_before = steady_clock::now() + kPause;
  tell(ReasonId::rsocket_no_path, outcome.error());
}

}  // namespace softrnic::rsocket
