#include "cma/ib_connections.h"

#include <algorithm>
#include <cerrno>
#include <vector>

#include "base/reason_id.h"
#include "cma/ip_header.h"
#include "cma/parameters.h"

namespace softrnic::cma {
namespace {

Unexpected<Failure> too_long(std::size_t bytes, std::size_t room) {
  return Unexpected{refuse(EINVAL, ReasonId::cma_private_data_long, bytes, room)};
}

/// The private data of a request: the addresses, then what the program gave.
Expected<std::vector<std::byte>, Failure> request_data(const Id& id, Bytes user, std::size_t room) {
  const std::size_t header = id.is_ib_addressed() ? 0 : IpHeader::kSize;
  if (user.size() > room - header) return too_long(user.size(), room - header);
  std::vector<std::byte> data(header + user.size());
  if (header != 0) IpHeader{id.source, id.destination}.write(data);
  std::copy(user.begin(), user.end(), data.begin() + static_cast<std::ptrdiff_t>(header));
  return data;
}

cm::Service transport_of(const Id& id) {
  if (id.qp_type == IBV_QPT_XRC_SEND) return cm::Service::xrc;
  return id.qp_type == IBV_QPT_UC ? cm::Service::uc : cm::Service::rc;
}

cm::ServiceId service_of(const Id& id) { return cm::ServiceId(service_id_of(id.space, id.destination)); }

}  // namespace

void IbConnections::connecting(Id& id, cm::Id connection, const ConnectionParameters& parameters) {
  ids_.connect(id, connection);
  id.active = true;
  id.qpn = parameters.qpn;
  id.state = State::connect;
}

Expected<void, Failure> IbConnections::connect(Id& id, const ConnectionParameters& parameters,
                                               const cm::Ece& ece, TimePoint now) {
  if (id.is_datagram()) return connect_datagram(id, parameters, now);
  const auto data = request_data(id, parameters.private_data, cm::kReqPrivateData);
  if (!data) return Unexpected{data.error()};
  cm::Request request;
  request.service_id = service_of(id);
  request.service = transport_of(id);
  request.path = id.path;
  request.endpoint = endpoint_of(parameters, id.starting_psn, ece);
  request.retry_count = std::min(parameters.retry_count, kMostRetries);
  request.private_data = *data;
  const auto connection = cm_.connect(request, now);
  if (!connection) return Unexpected{connection.error()};
  connecting(id, *connection, parameters);
  id.srq = parameters.srq;
  id.agreement.responder_resources = request.endpoint.responder_resources;
  id.agreement.initiator_depth = request.endpoint.initiator_depth;
  id.agreement.retry_count = request.retry_count;
  return {};
}

Expected<void, Failure> IbConnections::connect_datagram(Id& id, const ConnectionParameters& parameters,
                                                        TimePoint now) {
  const auto data = request_data(id, parameters.private_data, cm::kSidrReqPrivateData);
  if (!data) return Unexpected{data.error()};
  cm::SidrRequest request;
  request.service_id = service_of(id);
  request.path = id.path;
  request.private_data = *data;
  const auto connection = cm_.request_service_id(request, now);
  if (!connection) return Unexpected{connection.error()};
  connecting(id, *connection, parameters);
  return {};
}

Expected<void, Failure> IbConnections::accept(Id& id, const std::optional<ConnectionParameters>& parameters,
                                              const cm::Ece& ece, TimePoint now) {
  Expected<void, Failure> done;
  if (id.is_datagram()) {
    done = accept_datagram(id, parameters.value_or(ConnectionParameters{}), ece, now);
  } else if (id.active) {
    done = cm_.confirm(id.connection, {}, now);
  } else if (parameters) {
    done = accept_passive(id, *parameters, ece, now);
  } else {
    done = Unexpected{refuse(EINVAL, ReasonId::cma_accept_parameters)};
  }
  if (done) patience_.answered(id.number);
  return done;
}

Expected<void, Failure> IbConnections::accept_passive(Id& id, const ConnectionParameters& parameters,
                                                      const cm::Ece& ece, TimePoint now) {
  if (parameters.private_data.size() > cm::kRepPrivateData)
    return too_long(parameters.private_data.size(), cm::kRepPrivateData);
  cm::Reply reply;
  reply.endpoint = endpoint_of(parameters, id.starting_psn, ece);
  // no more than the peer is ready to respond to
  reply.endpoint.initiator_depth = std::min(reply.endpoint.initiator_depth, id.agreement.initiator_depth);
  reply.private_data = parameters.private_data;
  const auto sent = cm_.reply(id.connection, reply, now);
  if (!sent) return sent;
  id.qpn = parameters.qpn;
  id.srq = parameters.srq;
  id.agreement.responder_resources = reply.endpoint.responder_resources;
  id.agreement.initiator_depth = reply.endpoint.initiator_depth;
  return {};
}

Expected<void, Failure> IbConnections::accept_datagram(Id& id, const ConnectionParameters& parameters,
                                                       const cm::Ece& ece, TimePoint now) {
  if (parameters.private_data.size() > cm::kSidrRepPrivateData)
    return too_long(parameters.private_data.size(), cm::kSidrRepPrivateData);
  // A Q_Key of the program's own is for AF_IB alone: IP port spaces have one (RDMA_UDP_QKEY).
  if (!id.settle_qkey(id.is_ib_addressed() ? parameters.qkey : 0))
    return Unexpected{refuse(EINVAL, ReasonId::cma_qkey, parameters.qkey, id.qkey)};
  cm::SidrReply reply;
  reply.qpn = Qpn(parameters.qpn & 0xffffff);
  reply.qkey = id.qkey;
  reply.ece = ece;
  reply.private_data = parameters.private_data;
  const auto sent = cm_.answer(id.connection, reply, now);
  if (sent) id.qpn = parameters.qpn;
  return sent;
}

Expected<void, Failure> IbConnections::reject(Id& id, cm::RejectReason reason, Bytes private_data,
                                              TimePoint now) {
  const std::size_t room = id.is_datagram() ? cm::kSidrRepPrivateData : cm::kRejPrivateData;
  if (private_data.size() > room) return too_long(private_data.size(), room);
  Expected<void, Failure> sent;
  if (id.is_datagram()) {
    cm::SidrReply reply;
    reply.status = cm::SidrStatus::rejected;
    reply.private_data = private_data;
    sent = cm_.answer(id.connection, reply, now);
  } else {
    sent = cm_.reject(id.connection, {reason, {}, private_data}, now);
  }
  if (sent) patience_.answered(id.number);
  return sent;
}

// Not yet, or no longer, connected: Linux has nothing to do then, and programs call it in any state they end
// in.
void IbConnections::disconnect(const Id& id, TimePoint now) {
  if (id.connection.value != 0) (void)cm_.disconnect(id.connection, {}, now);
}

Expected<void, Failure> IbConnections::notify(const Id& id, std::uint32_t ibv_event, TimePoint now) {
  if (ibv_event != IBV_EVENT_COMM_EST) return Unexpected{refuse(EINVAL, ReasonId::cma_notify, ibv_event)};
  return cm_.established(id.connection, now);
}

void IbConnections::end(const Id& id, TimePoint now) {
  if (id.connection.value != 0) cm_.destroy(id.connection, now);
  patience_.answered(id.number);
}

}  // namespace softrnic::cma
