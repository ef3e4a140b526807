// The active side's wishes: REQ and SIDR_REQ.
#include <algorithm>
#include <cerrno>

#include "cma/ip_header.h"
#include "cma/manager.h"
#include "cma/parameters.h"

namespace softrnic::cma {

Expected<std::vector<std::byte>, Failure> Manager::request_data(const Id& id, Bytes user,
                                                                std::size_t room) const {
  const std::size_t header = id.is_ib_addressed() ? 0 : IpHeader::kSize;
  if (user.size() > room - header)
    return Unexpected{refuse(EINVAL, ReasonId::cma_private_data_long, user.size(), room - header)};
  std::vector<std::byte> data(header + user.size());
  if (header != 0) IpHeader{id.source, id.destination}.write(data);
  std::copy(user.begin(), user.end(), data.begin() + static_cast<std::ptrdiff_t>(header));
  return data;
}

Expected<void, Failure> Manager::connect(IdNumber number, const ConnectionParameters& parameters,
                                         const cm::Ece& ece) {
  const auto found = ids_.find_for(number, Call::connect);
  if (!found) return Unexpected{found.error()};
  Id& id = **found;
  if (id.is_datagram()) return connect_datagram(id, parameters);
  const auto data = request_data(id, parameters.private_data, cm::kReqPrivateData);
  if (!data) return Unexpected{data.error()};
  cm::Request request;
  request.service_id = cm::ServiceId(service_id_of(id.space, id.destination));
  request.service = id.qp_type == IBV_QPT_UC ? cm::Service::uc : cm::Service::rc;
  request.path = id.path;
  request.endpoint = endpoint_of(parameters, id.starting_psn, ece);
  request.retry_count = std::min(parameters.retry_count, kMostRetries);
  request.private_data = *data;
  const auto connection = cm_.connect(request, host_.now());
  if (!connection) return Unexpected{connection.error()};
  ids_.connect(id, *connection);
  id.active = true;
  id.qpn = parameters.qpn;
  id.srq = parameters.srq;
  id.agreement.responder_resources = request.endpoint.responder_resources;
  id.agreement.initiator_depth = request.endpoint.initiator_depth;
  id.agreement.retry_count = request.retry_count;
  id.state = State::connect;
  return {};
}

Expected<void, Failure> Manager::connect_datagram(Id& id, const ConnectionParameters& parameters) {
  const auto data = request_data(id, parameters.private_data, cm::kSidrReqPrivateData);
  if (!data) return Unexpected{data.error()};
  cm::SidrRequest request;
  request.service_id = cm::ServiceId(service_id_of(id.space, id.destination));
  request.path = id.path;
  request.private_data = *data;
  const auto connection = cm_.request_service_id(request, host_.now());
  if (!connection) return Unexpected{connection.error()};
  ids_.connect(id, *connection);
  id.active = true;
  id.qpn = parameters.qpn;
  id.state = State::connect;
  return {};
}

Expected<void, Failure> Manager::disconnect(IdNumber number) {
  const auto found = ids_.find_for(number, Call::disconnect);
  if (!found) return Unexpected{found.error()};
  // Not yet, or no longer, connected: Linux has nothing to do then, and programs call it
  // in any state they end in.
  if ((*found)->connection.value != 0) (void)cm_.disconnect((*found)->connection, {}, host_.now());
  return {};
}

Expected<void, Failure> Manager::notify(IdNumber number, std::uint32_t ibv_event) {
  const auto found = ids_.find_for(number, Call::notify);
  if (!found) return Unexpected{found.error()};
  if (ibv_event != IBV_EVENT_COMM_EST) return Unexpected{refuse(EINVAL, ReasonId::cma_notify, ibv_event)};
  return cm_.established((*found)->connection, host_.now());
}

}  // namespace softrnic::cma
