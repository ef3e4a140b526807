// Endpoints: ids that rdma_create_ep brings all the way to a queue pair, and listeners that hand out such
// ids.
#include <rdma/rdma_cma.h>

#include <cerrno>

#include "abi/calls.h"
#include "abi/export.h"
#include "abi/rdmacm/addresses.h"
#include "abi/rdmacm/events.h"
#include "abi/rdmacm/queues.h"
#include "base/reason_id.h"

namespace softrnic::rdmacm {
namespace {

constexpr int kResolveMs = 2000;  ///< for the address, and again for the route; librdmacm's

Expected<void, Failure> make_passive(Id& id, const rdma_addrinfo& info, ibv_pd* pd,
                                     const ibv_qp_init_attr* attributes) {
  auto bound = bind(id, info.ai_src_addr);
  if (!bound) return bound;
  if (pd != nullptr) id.pd = pd;
  if (attributes != nullptr) {
    id.passive = *attributes;
    id.passive->qp_type = static_cast<ibv_qp_type>(info.ai_qp_type);
  }
  return {};
}

Expected<void, Failure> find_route(Id& id, const rdma_addrinfo& info) {
  if (info.ai_route_len == 0) return resolve_route(id, kResolveMs);
  const auto set = set_option(id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, info.ai_route, info.ai_route_len);
  if (!set) return set;
  return complete(id);
}

Expected<void, Failure> make_active(Id& id, const rdma_addrinfo& info, ibv_pd* pd,
                                    ibv_qp_init_attr* attributes) {
  auto done = resolve_address(id, info.ai_src_addr, info.ai_dst_addr, kResolveMs);
  if (done) done = find_route(id, info);
  if (done && attributes != nullptr) {
    attributes->qp_type = static_cast<ibv_qp_type>(info.ai_qp_type);
    done = create_qp(id, pd, *attributes);
  }
  if (!done) return done;
  const auto* data = static_cast<const std::uint8_t*>(info.ai_connect);
  if (data != nullptr) id.connect_data.assign(data, data + info.ai_connect_len);
  return {};
}

void destroy_endpoint(Id* id) {
  if (id->qp != nullptr) destroy_qp(*id);
  if (id->srq != nullptr) destroy_srq(*id);
  static_cast<void>(destroy(id));
}

Expected<void, Failure> create_endpoint(rdma_cm_id** out, const rdma_addrinfo& info, ibv_pd* pd,
                                        ibv_qp_init_attr* attributes) {
  auto session = current_session();
  if (!session) return Unexpected{session.error()};
  auto id =
      Id::create(std::move(*session), nullptr, nullptr, static_cast<rdma_port_space>(info.ai_port_space),
                 static_cast<ibv_qp_type>(info.ai_qp_type));
  if (!id) return Unexpected{id.error()};
  auto made = (info.ai_flags & RAI_PASSIVE) != 0 ? make_passive(**id, info, pd, attributes)
                                                 : make_active(**id, info, pd, attributes);
  if (made) {
    *out = id->release();
  } else {
    destroy_endpoint(id->release());
  }
  return made;
}

/// Why the event is not the request that was waited for.
Expected<void, Failure> check(const Event& event) {
  if (type_of(event) == RDMA_CM_EVENT_REJECTED) return Unexpected{Failure{ECONNREFUSED, {}}};
  if (event.status == 0 && type_of(event) == RDMA_CM_EVENT_CONNECT_REQUEST) return {};
  const int error = event.status < 0 ? -event.status : EINVAL;
  return rnic::refused(error, ReasonId::rdma_unexpected_event, type_of(event), event.status);
}

/// A failure leaves the event with the listener, where the program can look at it.
Expected<rdma_cm_id*, Failure> get_request(Id& listener) {
  if (!listener.synchronous()) return rnic::refused(EINVAL, ReasonId::rdma_not_synchronous);
  drop_event(listener);
  auto event = next_event(*listener.own_channel);
  if (!event) return Unexpected{event.error()};
  auto usable = check(**event);
  if (usable && listener.passive) {
    ibv_qp_init_attr attributes = *listener.passive;
    usable = create_qp(*Id::of((*event)->id), listener.pd, attributes);
  }
  if (!usable) {
    listener.event = event->release();
    return Unexpected{usable.error()};
  }
  rdma_cm_id* const id = (*event)->id;
  id->event = event->release();
  return id;
}

}  // namespace
}  // namespace softrnic::rdmacm

using namespace softrnic;
using namespace softrnic::rdmacm;

SOFTRNIC_EXPORT int rdma_create_ep(rdma_cm_id** id, rdma_addrinfo* res, ibv_pd* pd,
                                   ibv_qp_init_attr* qp_init_attr) {
  return abi::minus_one_call([&]() -> Expected<void, Failure> {
    if (id == nullptr || res == nullptr) return abi::null_argument();
    return create_endpoint(id, *res, pd, qp_init_attr);
  });
}

SOFTRNIC_EXPORT void rdma_destroy_ep(rdma_cm_id* id) {
  if (id != nullptr) destroy_endpoint(Id::of(id));
}

SOFTRNIC_EXPORT int rdma_get_request(rdma_cm_id* listen, rdma_cm_id** id) {
  return abi::minus_one_call([&]() -> Expected<void, Failure> {
    if (listen == nullptr || id == nullptr) return abi::null_argument();
    const auto request = get_request(*Id::of(listen));
    if (!request) return Unexpected{request.error()};
    *id = *request;
    return {};
  });
}
