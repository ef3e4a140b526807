#include "cma/iwarp_connections.h"

#include <algorithm>
#include <cerrno>

#include "base/reason_id.h"
#include "cma/parameters.h"

namespace softrnic::cma {
namespace {

iwcm::Endpoint endpoint_of(const SocketAddress& address) {
  return {address.host, address.port, address.is_link_local() ? address.scope : 0};
}

SocketAddress address_of(const iwcm::Endpoint& endpoint, std::uint32_t interface_index) {
  SocketAddress address;
  address.family = endpoint.host.is_ipv4() ? Family::ipv4 : Family::ipv6;
  address.host = endpoint.host;
  address.port = endpoint.port;
  if (address.is_link_local()) address.scope = interface_index;
  return address;
}

/// What a peer says of itself, or what was agreed upon.
std::uint8_t reads(std::uint16_t count) {
  return static_cast<std::uint8_t>(std::min<std::uint16_t>(count, rnic::limits::kMaxReadsPerQp));
}

iwcm::Offer offer_of(const ConnectionParameters& parameters) {
  return {within_device(parameters.responder_resources), within_device(parameters.initiator_depth),
          parameters.private_data};
}

/// As the kernel's rdma_cm tells what iw_cm says of an active side.
rdma_cm_event_type kind_of(int status) {
  switch (-status) {
    case 0:
      return RDMA_CM_EVENT_ESTABLISHED;
    case ECONNRESET:
    case ECONNREFUSED:
      return RDMA_CM_EVENT_REJECTED;
    case ETIMEDOUT:
      return RDMA_CM_EVENT_UNREACHABLE;
    default:
      return RDMA_CM_EVENT_CONNECT_ERROR;
  }
}

void set_parameters(Event& out, const iwcm::Event& event) {
  out.parameters.private_data.assign(event.private_data.begin(), event.private_data.end());
  out.parameters.responder_resources = reads(event.ird);
  out.parameters.initiator_depth = reads(event.ord);
}

}  // namespace

IwarpConnections::IwarpConnections(const Parts& parts, std::function<void(IdNumber)> forget)
    : to_(parts),
      forget_(std::move(forget)),
      streams_(*this, parts.streams, parts.limits),
      listeners_(streams_, parts.devices) {}

Id* IwarpConnections::id_of(iwcm::Id stream) const {
  const auto found = id_numbers_.find(stream);
  return found == id_numbers_.end() ? nullptr : to_.ids.find(found->second);
}

void IwarpConnections::attach(Id& id, iwcm::Id stream) {
  id.stream = stream;
  id_numbers_[stream] = id.number;
}

// ---- what programs tell their peers

Expected<void, Failure> IwarpConnections::connect(Id& id, const ConnectionParameters& parameters,
                                                  const cm::Ece&, TimePoint now) {
  iwcm::Request request;
  request.local = endpoint_of(id.source);
  if (id.ephemeral_port) request.local.port = 0;  // TCP's own choice, which is told with the reply
  request.remote = heard_at(id.destination);
  request.tos = id.tos;
  request.user = id.user;
  request.demands = to_.devices.demands_of(id.binding);
  request.offer = offer_of(parameters);
  const auto stream = streams_.connect(request, now);
  if (!stream) return Unexpected{stream.error()};
  attach(id, *stream);
  id.active = true;
  id.qpn = parameters.qpn;
  id.stream_only = parameters.stream_only;
  id.state = State::connect;
  return {};
}

Expected<void, Failure> IwarpConnections::accept(Id& id,
                                                 const std::optional<ConnectionParameters>& parameters,
                                                 const cm::Ece&, TimePoint) {
  if (!parameters) return Unexpected{refuse(EINVAL, ReasonId::cma_accept_parameters)};
  const auto accepted = streams_.accept(id.stream, offer_of(*parameters));
  if (!accepted) return accepted;
  id.qpn = parameters->qpn;
  id.stream_only = parameters->stream_only;
  choose_way(id);
  return accepted;
}

// Programs of different users share no memory, and of another daemon's nothing is known.
void IwarpConnections::choose_way(Id& id) {
  Id* const other = id_of(streams_.other_end(id.stream));
  if (other == nullptr) return;
  other->same_host.reset();  // of an earlier try
  if (other->user != id.user || other->stream_only || id.stream_only || other->qpn == 0 || id.qpn == 0)
    return;
  constexpr std::uint32_t kPsnMask = 0xffffff;
  const std::uint32_t here = to_.host.random_number() & kPsnMask;
  const std::uint32_t there = to_.host.random_number() & kPsnMask;
  id.same_host = {Qpn(id.qpn), Qpn(other->qpn), here, there};
  other->same_host = {Qpn(other->qpn), Qpn(id.qpn), there, here};
}

Expected<void, Failure> IwarpConnections::reject(Id& id, cm::RejectReason, Bytes private_data, TimePoint) {
  return streams_.reject(id.stream, private_data);
}

void IwarpConnections::disconnect(const Id& id, TimePoint now) { streams_.disconnect(id.stream, now); }

// As the kernel, for which only InfiniBand's CM has use for it.
Expected<void, Failure> IwarpConnections::notify(const Id&, std::uint32_t, TimePoint) { return {}; }

void IwarpConnections::end(const Id& id, TimePoint) {
  id_numbers_.erase(id.stream);
  streams_.destroy(id.stream);
}

// A listener at the wildcard hears one loopback address alone, and is meant by all of 127.0.0.0/8: Debian
// names hosts 127.0.1.1.
iwcm::Endpoint IwarpConnections::heard_at(const SocketAddress& destination) const {
  iwcm::Endpoint at = endpoint_of(destination);
  if (destination.is_loopback() && !to_.devices.has_gid(destination.host) && !listeners_.listens_at(at))
    at.host = SocketAddress::loopback(destination.family).host;
  return at;
}

void IwarpConnections::devices_changed() {
  for (const auto& [number, id] : to_.ids.all()) {
    if (id->state != State::listen) continue;
    if (id->without_streams) {  // at all addresses or none
      id->without_streams = !listeners_.listen(*id).has_value();
      continue;
    }
    if (const auto renewed = listeners_.renew(*id); !renewed) to_.host.explain(renewed.error().reason, {});
  }
}

std::optional<Handover> IwarpConnections::handover(const Id& id) const {
  const iwarp::MpaAgreement* const agreement = streams_.agreement(id.stream);
  if (agreement == nullptr) return std::nullopt;
  return Handover{id.stream, streams_.token(id.stream), id.active, *agreement, id.same_host};
}

IdNumber IwarpConnections::id_with_token(std::uint64_t token) const {
  const Id* const id = id_of(streams_.with_token(token));
  return id != nullptr ? id->number : 0;
}

// ---- what peers tell programs

void IwarpConnections::explain(const Reason& reason, const iwcm::Endpoint& peer) {
  mad::Address address;
  address.remote = peer.host;
  to_.host.explain(reason, address);
}

void IwarpConnections::event(const iwcm::Event& event) {
  if (event.kind == iwcm::EventKind::request) return requested(event);
  Id* const id = id_of(event.id);
  if (id == nullptr) return;
  if (event.kind == iwcm::EventKind::given_up) return given_up(*id);
  if (id->state != State::connect) return;  // after a removal nothing counts but the removal
  switch (event.kind) {
    case iwcm::EventKind::reply:
      return replied(*id, event);
    case iwcm::EventKind::established:
      return established(*id, event);
    default:
      return closed(*id, event);
  }
}

bool IwarpConnections::has_room(const Id& listener, const iwcm::Event& event) {
  if (to_.events.has_room(listener)) return true;
  explain(because(ReasonId::cma_backlog_full, listener.source.port, listener.unfetched_requests),
          event.remote);
  return false;
}

void IwarpConnections::requested(const iwcm::Event& event) {
  Id* const listener = to_.ids.find(listeners_.id_of(event.listener));
  const DeviceChoice choice =
      listener != nullptr ? listener->devices.without_packets() : DeviceChoice{}.without_packets();
  const auto binding = to_.devices.reached_by(event.local.host, event.local.interface_index, choice);
  if (listener == nullptr || !binding || !has_room(*listener, event)) {
    (void)streams_.reject(event.id, {});
    return streams_.destroy(event.id);
  }
  Id& id = to_.ids.add(listener->space, listener->qp_type, 0);
  to_.events.attach(id, listener->channel);
  attach(id, event.id);
  id.user = listener->user;
  id.devices = listener->devices;
  id.state = State::connect;
  id.tos = listener->tos;
  id.binding = *binding;
  id.source = address_of(event.local, binding->interface_index);
  id.destination = address_of(event.remote, binding->interface_index);
  id.destination_gid = event.remote.host;
  Event told;
  told.kind = RDMA_CM_EVENT_CONNECT_REQUEST;
  set_parameters(told, event);
  // What the peer starts, this side responds to
  told.parameters.responder_resources = reads(event.ord);
  told.parameters.initiator_depth = reads(event.ird);
  to_.events.tell_request(*listener, id, std::move(told));
}

// As long as the program has not heard of the request it never will; else, and where the event has to stay,
// it does with its answer.
void IwarpConnections::given_up(Id& request) {
  if (request.waits_at != 0 && to_.events.drop_request(request)) forget_(request.number);
}

void IwarpConnections::replied(Id& id, const iwcm::Event& event) {
  if (event.status == 0) {
    id.source.port = event.local.port;
    id.agreed = true;
  }
  Event told;
  told.kind = kind_of(event.status);
  told.status = event.status;
  told.reason = event.reason;
  told.has_stream = event.status == 0;
  set_parameters(told, event);
  to_.events.tell(id, std::move(told));
}

void IwarpConnections::established(Id& id, const iwcm::Event& event) {
  Event told;
  told.kind = RDMA_CM_EVENT_ESTABLISHED;
  set_parameters(told, event);
  to_.events.tell(id, std::move(told));
}

void IwarpConnections::closed(Id& id, const iwcm::Event& event) {
  id.state = State::disconnect;
  to_.events.tell_failure(id, RDMA_CM_EVENT_DISCONNECTED, event.status, event.reason);
}

}  // namespace softrnic::cma
