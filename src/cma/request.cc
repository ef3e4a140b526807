#include "cma/request.h"

#include <algorithm>

#include "base/reason_id.h"

namespace softrnic::cma {
namespace {

bool offers(const Id& listener, const cm::Event& request) {
  if (is_datagram(request)) return listener.is_datagram();
  switch (request.service) {
    case cm::Service::rc:
      return listener.qp_type == IBV_QPT_RC;
    case cm::Service::uc:
      return listener.qp_type == IBV_QPT_UC;
    case cm::Service::xrc:  // initiators ask, targets listen
      return listener.qp_type == IBV_QPT_XRC_RECV;
    case cm::Service::rd:
      break;
  }
  return false;
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

void take_addresses(Id& id, const Id& listener, const cm::Event& request) {
  const auto header = header_of(request);
  if (listener.is_ib_addressed() || !header) {
    id.source = gid_address(request.path.local, request.path, request.service_id.value);
    id.destination = gid_address(request.path.remote, request.path, request.service_id.value);
    return;
  }
  id.source = header->destination.with_port(listener.source.port);
  id.destination = header->source;
  for (SocketAddress* address : {&id.source, &id.destination})
    if (address->is_link_local()) address->scope = id.binding.interface_index;
}

/// The addresses that programs are told have to be those that packets come from, else a list of allowed peers
/// would be worth nothing. A program connects to its own host by 127.0.0.1, too.
bool says_truly_who_asks(const IpHeader& header, const wire::Gid& from, const Binding& binding,
                         const DeviceTable& devices, const Host& host) {
  if (header.source.is_loopback() && devices.has_gid(from)) return true;
  return binding.has_lids() ? host.has_address(from, header.source.host) : header.source.host == from;
}

Agreement agreement_of(const cm::Event& request) {
  Agreement agreement;
  agreement.remote_qpn = request.endpoint.qpn.value;
  agreement.remote_starting_psn = request.endpoint.starting_psn;
  // What the peer starts, this side responds to
  agreement.responder_resources = request.endpoint.initiator_depth;
  agreement.initiator_depth = request.endpoint.responder_resources;
  agreement.retry_count = request.retry_count;
  agreement.rnr_retry_count = request.endpoint.rnr_retry_count;
  agreement.ack_timeout = request.path.ack_timeout;
  return agreement;
}

}  // namespace

std::optional<Refusal> refusal_of(const cm::Event& request, const Id& listener, const DeviceTable& devices,
                                  const Host& host) {
  if (!offers(listener, request))
    return Refusal{cm::RejectReason::invalid_transport_service, cm::SidrStatus::unsupported};
  const auto binding =
      devices.with_gid(request.path.local, request.path.interface_index, listener.devices.without_streams());
  if (!binding) return Refusal{cm::RejectReason::primary_remote_gid, cm::SidrStatus::rejected};
  if (!devices.pkey_index_of(*binding, request.path.pkey))  // as Linux: IBTA has no reason for it
    return Refusal{cm::RejectReason::primary_remote_gid, cm::SidrStatus::rejected,
                   because(ReasonId::cma_foreign_partition, request.path.pkey)};
  const auto header = header_of(request);
  const wire::Gid& from = request.path.remote;
  if (!listener.is_ib_addressed() && header && !says_truly_who_asks(*header, from, *binding, devices, host)) {
    const wire::Gid& named = header->source.host;
    return Refusal{cm::RejectReason::unsupported_request, cm::SidrStatus::rejected,
                   because(ReasonId::cma_foreign_source, from.high_half(), from.low_half(), named.high_half(),
                           named.low_half())};
  }
  if (!is_datagram(request) && request.path.mtu > devices.mtu_of(request.path.local))
    return Refusal{cm::RejectReason::invalid_mtu, cm::SidrStatus::rejected};
  return std::nullopt;
}

void take_over(Id& id, const Id& listener, const cm::Event& request, const Binding& binding) {
  id.state = State::connect;
  id.devices = listener.devices;
  id.tos = listener.tos;
  id.qp_timeout = listener.qp_timeout;
  id.binding = binding;
  id.destination_gid = request.path.remote;
  id.path = request.path;
  id.has_path = true;
  take_addresses(id, listener, request);
  if (id.is_datagram()) return;
  id.agreement = agreement_of(request);
  id.agreed = true;
  id.packet_life_time = static_cast<std::uint8_t>(std::max<int>(request.path.ack_timeout, 1) - 1);
}

Event request_event(const Id& id, const cm::Event& request) {
  Event out;
  out.kind = RDMA_CM_EVENT_CONNECT_REQUEST;
  out.ece = request.endpoint.ece;
  const Bytes data = request.private_data.subspan(
      std::min(request.private_data.size(), id.is_ib_addressed() ? 0 : IpHeader::kSize));
  out.parameters.private_data.assign(data.begin(), data.end());
  if (is_datagram(request)) return out;
  out.parameters.qpn = id.agreement.remote_qpn;
  out.parameters.responder_resources = id.agreement.responder_resources;
  out.parameters.initiator_depth = id.agreement.initiator_depth;
  out.parameters.retry_count = id.agreement.retry_count;
  out.parameters.rnr_retry_count = id.agreement.rnr_retry_count;
  out.parameters.flow_control = request.endpoint.flow_control;
  out.parameters.srq = request.endpoint.srq;
  return out;
}

}  // namespace softrnic::cma
