// The passive side until the program hears of a request: listeners, and which of them a request is for.
#include <algorithm>
#include <cerrno>

#include "cm/messages.h"
#include "cma/ip_header.h"
#include "cma/manager.h"
#include "cma/path.h"

namespace softrnic::cma {
namespace {

/// Linux bounds backlogs by 1024 (net.rdma_ucm.max_backlog). Here that would be the least, and is too little:
/// the daemon takes a burst of requests in one go, and a program that asked for a backlog of 3 would lose
/// clients that it could well serve. What strangers can do is bounded by cm: of requests whose senders give
/// no sign of life few come here (Limits::strangers), and when too many are not confirmed (Limits::half_open,
/// no higher than this) it gives up the oldest without a word, so that honest clients repeat theirs, where
/// this refuses the newest.
constexpr std::uint32_t kLeastBacklog = 32768;

std::optional<IpHeader> header_of(const cm::Event& event) { return IpHeader::read(event.private_data); }

bool is_datagram(const cm::Event& event) { return event.kind == cm::EventKind::service_id_request; }

bool offers(const Id& listener, const cm::Event& event) {
  if (is_datagram(event)) return listener.is_datagram();
  if (event.service == cm::Service::rc) return listener.qp_type == IBV_QPT_RC;
  return event.service == cm::Service::uc && listener.qp_type == IBV_QPT_UC;
}

/// Addresses of an AF_IB connection: GIDs, and the service ID.
SocketAddress gid_address(const wire::Gid& gid, const cm::Path& path, std::uint64_t service_id) {
  SocketAddress address;
  address.family = Family::ib;
  address.host = gid;
  address.pkey = path.pkey;
  address.service_id = service_id;
  address.service_mask = ~std::uint64_t{0};
  address.port = static_cast<std::uint16_t>(service_id);
  return address;
}

void take_addresses(Id& id, const Id& listener, const cm::Event& event) {
  const auto header = header_of(event);
  if (listener.is_ib_addressed() || !header) {
    id.source = gid_address(event.path.local, event.path, event.service_id.value);
    id.destination = gid_address(event.path.remote, event.path, event.service_id.value);
    return;
  }
  id.source = header->destination.with_port(listener.source.port);
  id.destination = header->source;
  for (SocketAddress* address : {&id.source, &id.destination})
    if (address->is_link_local()) address->scope = id.binding.interface_index;
}

/// The addresses that programs are told have to be those that packets come from, else a list of allowed peers
/// would be worth nothing. A program connects to its own host by 127.0.0.1, too.
bool says_truly_who_asks(const IpHeader& header, const wire::Gid& from, bool from_here) {
  return header.source.host == from || (header.source.is_loopback() && from_here);
}

Agreement agreement_of(const cm::Event& event) {
  Agreement agreement;
  agreement.remote_qpn = event.endpoint.qpn.value;
  agreement.remote_starting_psn = event.endpoint.starting_psn;
  // What the peer starts, this side responds to
  agreement.responder_resources = event.endpoint.initiator_depth;
  agreement.initiator_depth = event.endpoint.responder_resources;
  agreement.retry_count = event.retry_count;
  agreement.rnr_retry_count = event.endpoint.rnr_retry_count;
  agreement.ack_timeout = event.path.ack_timeout;
  return agreement;
}

Event told(const Id& id, const cm::Event& event) {
  Event out;
  out.kind = RDMA_CM_EVENT_CONNECT_REQUEST;
  out.ece = event.endpoint.ece;
  const Bytes data = event.private_data.subspan(
      std::min(event.private_data.size(), id.is_ib_addressed() ? 0 : IpHeader::kSize));
  out.parameters.private_data.assign(data.begin(), data.end());
  if (is_datagram(event)) return out;
  out.parameters.qpn = id.agreement.remote_qpn;
  out.parameters.responder_resources = id.agreement.responder_resources;
  out.parameters.initiator_depth = id.agreement.initiator_depth;
  out.parameters.retry_count = id.agreement.retry_count;
  out.parameters.rnr_retry_count = id.agreement.rnr_retry_count;
  out.parameters.flow_control = event.endpoint.flow_control;
  out.parameters.srq = event.endpoint.srq;
  return out;
}

}  // namespace

Expected<void, Failure> Manager::listen(IdNumber number, int backlog) {
  const auto found = ids_.find_for(number, Call::listen);
  if (!found) return Unexpected{found.error()};
  Id& id = **found;
  if (id.state == State::idle) {
    const auto bound = bind(id, SocketAddress::any(Family::ipv4));
    if (!bound) return bound;
  }
  const auto started = start_listening(id);
  if (!started) return started;
  id.backlog = std::max(backlog > 0 ? static_cast<std::uint32_t>(backlog) : 0, kLeastBacklog);
  id.state = State::listen;
  hear_early();
  return {};
}

Expected<void, Failure> Manager::start_listening(Id& id) {
  const auto attended = attend(id, id.port->port);
  if (!attended) return attended;
  return ports_.listen(id.port->space, id.port->port, id.number);
}

bool Manager::hears(const Id& listener, const cm::Event& event) const {
  const SocketAddress& address = listener.source;
  if (listener.is_ib_addressed()) return address.is_any() || address.host == event.path.local;
  const auto header = header_of(event);
  if (!header) return false;
  const SocketAddress& wanted = header->destination;
  // nobody on the network has business with 127.0.0.1
  if (wanted.is_loopback() && !devices_.has_gid(event.path.remote)) return false;
  if (address.is_any()) return !listener.binds_family_only() || address.family == wanted.family;
  if (address.family != wanted.family || address.host != wanted.host) return false;
  return !address.is_link_local() || event.path.interface_index == 0 ||
         address.scope == event.path.interface_index;
}

Id* Manager::match_listener(const cm::Event& event) {
  const auto service = service_of(event.service_id.value);
  if (!service) return nullptr;
  Id* match = nullptr;
  for (const PortTable::Owner& owner : ports_.owners(service->space, service->port)) {
    Id* id = owner.listening ? ids_.find(owner.id) : nullptr;
    if (id == nullptr || id->state != State::listen || !hears(*id, event)) continue;
    // a specific address before the wildcard
    if (match == nullptr || match->source.is_any()) match = id;
  }
  return match;
}

void Manager::turn_away(const cm::Event& event, cm::RejectReason reason, cm::SidrStatus status) {
  const TimePoint now = host_.now();
  if (is_datagram(event)) {
    cm::SidrReply reply;
    reply.status = status;
    (void)cm_.answer(event.id, reply, now);
  } else {
    cm::Rejection rejection;
    rejection.reason = reason;
    (void)cm_.reject(event.id, rejection, now);
  }
  cm_.destroy(event.id, now);
}

void Manager::request_came(const cm::Event& event) {
  if (Id* listener = match_listener(event)) return admit(*listener, event);
  if (!keep_early(event)) refuse_unheard(event);
}

const Id* Manager::listener_elsewhere(const cm::Event& event) const {
  const auto service = service_of(event.service_id.value);
  if (!service) return nullptr;
  for (const PortTable::Owner& owner : ports_.owners(service->space, service->port))
    if (owner.listening && !owner.address.is_any()) return ids_.find(owner.id);
  return nullptr;
}

void Manager::refuse_unheard(const cm::Event& event) {
  const auto message = is_datagram(event) ? cm::Message::sidr_req : cm::Message::req;
  Reason reason = because(ReasonId::cm_no_listener, message, event.service_id.value);
  if (const Id* const other = listener_elsewhere(event))
    reason = because(ReasonId::cma_listener_elsewhere, message, other->source.port,
                     other->source.host.high_half(), other->source.host.low_half());
  host_.explain(reason, cm::address_of(event.path));
  turn_away(event, cm::RejectReason::invalid_service_id, cm::SidrStatus::unsupported);
}

void Manager::admit(Id& listener, const cm::Event& event) {
  if (!offers(listener, event))
    return turn_away(event, cm::RejectReason::invalid_transport_service, cm::SidrStatus::unsupported);
  const auto binding = devices_.with_gid(event.path.local, event.path.interface_index);
  if (!binding) return turn_away(event, cm::RejectReason::primary_remote_gid, cm::SidrStatus::rejected);
  const auto header = header_of(event);
  if (!listener.is_ib_addressed() && header &&
      !says_truly_who_asks(*header, event.path.remote, devices_.has_gid(event.path.remote))) {
    const wire::Gid& named = header->source.host;
    host_.explain(because(ReasonId::cma_foreign_source, event.path.remote.high_half(),
                          event.path.remote.low_half(), named.high_half(), named.low_half()),
                  cm::address_of(event.path));
    return turn_away(event, cm::RejectReason::unsupported_request, cm::SidrStatus::rejected);
  }
  if (!is_datagram(event) && event.path.mtu > devices_.mtu_of(event.path.local))
    return turn_away(event, cm::RejectReason::invalid_mtu, cm::SidrStatus::rejected);
  if (listener.unfetched_requests >= listener.backlog || ids_.full()) {
    host_.explain(because(ReasonId::cma_backlog_full, listener.source.port, listener.unfetched_requests),
                  cm::address_of(event.path));
    return turn_away(event, cm::RejectReason::no_resources, cm::SidrStatus::no_queue_pair);
  }
  take_request(listener, event, *binding);
}

void Manager::take_request(Id& listener, const cm::Event& event, const Binding& binding) {
  Id& id = make_id(listener.channel, listener.space, listener.qp_type);
  id.state = State::connect;
  id.tos = listener.tos;
  id.qp_timeout = listener.qp_timeout;
  id.binding = binding;
  id.destination_gid = event.path.remote;
  id.path = event.path;
  id.has_path = true;
  ids_.connect(id, event.id);
  (void)attend(id, listener.port->port);  // cannot fail: the listener does
  take_addresses(id, listener, event);
  if (!id.is_datagram()) {
    id.agreement = agreement_of(event);
    id.agreed = true;
    id.packet_life_time = static_cast<std::uint8_t>(std::max<int>(event.path.ack_timeout, 1) - 1);
    patience_.expect_answer(id.number, id.connection, event.local_response_timeout, host_.now());
  }
  events_.tell_request(listener, id, told(id, event));
}

}  // namespace softrnic::cma
