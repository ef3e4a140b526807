// What a program answers: REP, RTU, REJ and SIDR_REP.
#include <algorithm>
#include <cerrno>

#include "cma/manager.h"
#include "cma/parameters.h"

namespace softrnic::cma {
namespace {

Unexpected<Failure> too_long(std::size_t bytes, std::size_t room) {
  return Unexpected{refuse(EINVAL, ReasonId::cma_private_data_long, bytes, room)};
}

}  // namespace

Expected<void, Failure> Manager::accept(IdNumber number, std::uint64_t cookie,
                                        const std::optional<ConnectionParameters>& parameters,
                                        const cm::Ece& ece) {
  const auto found = ids_.find_for(number, Call::accept);
  if (!found) return Unexpected{found.error()};
  Id& id = **found;
  Expected<void, Failure> done;
  if (id.is_datagram()) {
    done = accept_datagram(id, parameters, ece);
  } else if (id.active) {
    done = confirm(id);
  } else if (parameters) {
    done = accept_passive(id, *parameters, ece);
  } else {
    done = Unexpected{refuse(EINVAL, ReasonId::cma_accept_parameters)};
  }
  if (!done) return done;
  patience_.answered(id.number);
  if (!id.active) id.cookie = cookie;
  id.accepted = true;
  return {};
}

Expected<void, Failure> Manager::confirm(Id& id) { return cm_.confirm(id.connection, {}, host_.now()); }

Expected<void, Failure> Manager::accept_passive(Id& id, const ConnectionParameters& parameters,
                                                const cm::Ece& ece) {
  if (parameters.private_data.size() > cm::kRepPrivateData)
    return too_long(parameters.private_data.size(), cm::kRepPrivateData);
  cm::Reply reply;
  reply.endpoint = endpoint_of(parameters, id.starting_psn, ece);
  // no more than the peer is ready to respond to
  reply.endpoint.initiator_depth = std::min(reply.endpoint.initiator_depth, id.agreement.initiator_depth);
  reply.private_data = parameters.private_data;
  const auto sent = cm_.reply(id.connection, reply, host_.now());
  if (!sent) return sent;
  id.qpn = parameters.qpn;
  id.srq = parameters.srq;
  id.agreement.responder_resources = reply.endpoint.responder_resources;
  id.agreement.initiator_depth = reply.endpoint.initiator_depth;
  return {};
}

Expected<void, Failure> Manager::accept_datagram(Id& id,
                                                 const std::optional<ConnectionParameters>& parameters,
                                                 const cm::Ece& ece) {
  const ConnectionParameters given = parameters.value_or(ConnectionParameters{});
  if (given.private_data.size() > cm::kSidrRepPrivateData)
    return too_long(given.private_data.size(), cm::kSidrRepPrivateData);
  // A Q_Key of the program's own is for AF_IB alone: IP port spaces have one (RDMA_UDP_QKEY).
  if (!id.settle_qkey(id.is_ib_addressed() ? given.qkey : 0))
    return Unexpected{refuse(EINVAL, ReasonId::cma_qkey, given.qkey, id.qkey)};
  cm::SidrReply reply;
  reply.qpn = Qpn(given.qpn & 0xffffff);
  reply.qkey = id.qkey;
  reply.ece = ece;
  reply.private_data = given.private_data;
  const auto sent = cm_.answer(id.connection, reply, host_.now());
  if (sent) id.qpn = given.qpn;
  return sent;
}

Expected<void, Failure> Manager::reject(IdNumber number, cm::RejectReason reason, Bytes private_data) {
  const auto found = ids_.find_for(number, Call::reject);
  if (!found) return Unexpected{found.error()};
  Id& id = **found;
  const std::size_t room = id.is_datagram() ? cm::kSidrRepPrivateData : cm::kRejPrivateData;
  if (private_data.size() > room) return too_long(private_data.size(), room);
  Expected<void, Failure> sent;
  if (id.is_datagram()) {
    cm::SidrReply reply;
    reply.status = cm::SidrStatus::rejected;
    reply.private_data = private_data;
    sent = cm_.answer(id.connection, reply, host_.now());
  } else {
    sent = cm_.reject(id.connection, {reason, {}, private_data}, host_.now());
  }
  if (sent) patience_.answered(id.number);
  return sent;
}

}  // namespace softrnic::cma
