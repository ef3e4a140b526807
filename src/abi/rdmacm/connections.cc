// Making and ending connections.
#include <rdma/rdma_cma.h>

#include <algorithm>
#include <cerrno>
#include <span>

#include "abi/calls.h"
#include "abi/export.h"
#include "abi/rdmacm/events.h"
#include "abi/rdmacm/qp_states.h"
#include "abi/rdmacm/streams.h"
#include "base/reason_id.h"
#include "base/settings.h"

namespace softrnic::rdmacm {
namespace {

constexpr std::uint8_t kMostRetries = 7;
constexpr std::size_t kMostPrivateData = 255;
/// IBTA 12.6.7.2
constexpr std::uint8_t kConsumerReject = 28;
constexpr std::uint8_t kVendorOptionNotSupported = 35;

/// Of RDMA_PS_TCP, where librdmacm checks them; the daemon checks the rest.
Expected<void, Failure> check(const Id& id, const rdma_conn_param* parameters) {
  if (id.ps != RDMA_PS_TCP) return {};
  if (parameters == nullptr) {
    if (id.qp == nullptr) return rnic::refused(EINVAL, ReasonId::rdma_without_qp);
    return {};
  }
  const std::uint8_t responder = parameters->responder_resources, initiator = parameters->initiator_depth;
  const bool responder_fits =
      responder == RDMA_MAX_RESP_RES || responder <= id.device->max_responder_resources;
  const bool initiator_fits = initiator == RDMA_MAX_INIT_DEPTH || initiator <= id.device->max_initiator_depth;
  if (responder_fits && initiator_fits) return {};
  return rnic::refused(EINVAL, ReasonId::rdma_depth, responder, initiator,
                       id.device->max_responder_resources);
}

Expected<void, Failure> add_private_data(control::CmConnectionParameters& out,
                                         std::span<const std::uint8_t> data) {
  const std::size_t length = out.private_data_length + data.size();
  if (length > kMostPrivateData)
    return rnic::refused(EINVAL, ReasonId::rdma_private_data, length, kMostPrivateData);
  std::copy(data.begin(), data.end(), out.private_data + out.private_data_length);
  out.private_data_length = static_cast<std::uint8_t>(length);
  return {};
}

/// SOFTRNIC_PATH=wire asks for TCP; captures and faults are of what goes by TCP (as LaneSet::make_share).
bool wants_stream() {
  const Settings& set = settings();
  return set.wire_only || !set.faults.empty() || !set.capture.empty();
}

Expected<control::CmConnectionParameters, Failure> parameters_of(const Id& id, const rdma_conn_param* given) {
  control::CmConnectionParameters out;
  out.valid = 1;
  out.responder_resources = id.responder_resources;
  out.initiator_depth = id.initiator_depth;
  out.retry_count = out.rnr_retry_count = kMostRetries;
  out.stream_only = wants_stream() ? 1 : 0;
  auto added = add_private_data(out, id.connect_data);
  if (given != nullptr) {
    out.qpn = given->qp_num;
    out.srq = given->srq;
    out.flow_control = given->flow_control;
    out.retry_count = std::min(given->retry_count, kMostRetries);
    out.rnr_retry_count = std::min(given->rnr_retry_count, kMostRetries);
    const std::size_t length = given->private_data == nullptr ? 0 : given->private_data_len;
    if (added) added = add_private_data(out, {static_cast<const std::uint8_t*>(given->private_data), length});
  }
  if (!added) return Unexpected{added.error()};
  if (id.qp != nullptr) {
    out.qpn = id.qp->qp_num;
    out.srq = id.qp->srq != nullptr ? 1 : 0;
  }
  return out;
}

/// What the program gives, and for what it leaves open (no parameters, or RDMA_MAX_…) the two defaults.
void set_depths(Id& id, const rdma_conn_param* given, std::uint8_t initiator_depth,
                std::uint8_t responder_resources) {
  const bool initiator = given != nullptr && given->initiator_depth != RDMA_MAX_INIT_DEPTH;
  const bool responder = given != nullptr && given->responder_resources != RDMA_MAX_RESP_RES;
  id.initiator_depth = initiator ? given->initiator_depth : initiator_depth;
  id.responder_resources = responder ? given->responder_resources : responder_resources;
}

Expected<void, Failure> connect(Id& id, const rdma_conn_param* given) {
  auto usable = id.require_device();
  if (usable) usable = check(id, given);
  if (usable && has_streams(id)) usable = may_start_stream(id, given);
  if (!usable) return usable;
  set_depths(id, given, id.device->max_initiator_depth, id.device->max_responder_resources);
  const auto parameters = parameters_of(id, given);
  if (!parameters) return Unexpected{parameters.error()};
  if (given != nullptr) id.stream_qpn = given->qp_num;
  return start(id, [&](control::CmClient& daemon) {
    // The first request carries them, and no other: as librdmacm does.
    id.connect_data.clear();
    return daemon.connect(id.number, *parameters, id.local_ece);
  });
}

/// No event follows.
template <typename Request>
Expected<void, Failure> accept_datagrams(Id& id, Request request) {
  const auto accepted = request();
  if (!accepted) return Unexpected{accepted.error()};
  if (id.synchronous()) drop_event(id);
  return {};
}

/// The peer may send as soon as it has the answer, so the QP is ready before.
template <typename Request>
Expected<void, Failure> accept_packets(Id& id, Request request) {
  auto ready = modify_to_rtr(id, id.responder_resources);
  if (ready) ready = modify_to_rts(id, id.initiator_depth);
  if (!ready) return ready;
  const std::shared_ptr<Session> session = id.session;
  const bool synchronous = id.synchronous();
  const auto accepted = request();
  if (accepted) return synchronous ? complete(id) : Expected<void, Failure>{};
  static_cast<void>(modify_to_error(id));
  return Unexpected{accepted.error()};
}

/// The daemon answers the peer, and what the peer sends then waits in the stream until the QP has it. Then
/// the program may hear that the connection is there.
template <typename Request>
Expected<void, Failure> accept_stream(Id& id, const rdma_conn_param* given, Request request) {
  if (auto may = may_start_stream(id, given); !may) return may;
  if (given != nullptr) id.stream_qpn = given->qp_num;
  auto accepted = request();
  if (!accepted) return Unexpected{accepted.error()};
  if (auto started = start_stream(id, std::move(*accepted)); !started) {
    id.connect_failed = true;
    static_cast<void>(modify_to_error(id));
    return started;
  }
  return start(id, [&](control::CmClient& daemon) { return daemon.has_stream(id.number); });
}

Expected<void, Failure> accept(Id& id, const rdma_conn_param* given) {
  auto ready = id.require_device();
  if (ready) ready = check(id, given);
  if (!ready) return ready;
  if (id.qp == nullptr && given == nullptr) return rnic::refused(EINVAL, ReasonId::rdma_without_qp);
  // Without parameters, or with RDMA_MAX_…, what the peer asked for holds, as far as the device goes.
  set_depths(id, given, std::min(id.initiator_depth, id.device->max_initiator_depth),
             std::min(id.responder_resources, id.device->max_responder_resources));
  const auto parameters = parameters_of(id, given);
  if (!parameters) return Unexpected{parameters.error()};
  const control::CmEce ece{id.remote_ece.vendor, id.local_ece.options};
  const auto request = [&] {
    return id.session->heard(id.session->daemon.accept(id.number, id.cookie, *parameters, ece));
  };
  if (id.datagrams()) return accept_datagrams(id, request);
  return has_streams(id) ? accept_stream(id, given, request) : accept_packets(id, request);
}

Expected<void, Failure> reject(Id& id, const void* data, std::uint8_t length, std::uint8_t reason) {
  if (data == nullptr) length = 0;
  return id.session->heard(
      id.session->daemon.reject(id.number, reason, {static_cast<const std::uint8_t*>(data), length}));
}

/// The QP stops sending before the peer hears of it; on iWARP it finishes what is posted. A DISCONNECTED
/// that comes from the peer leaves our QP alone, which may still have receives that the program wants to
/// see.
Expected<void, Failure> disconnect(Id& id) {
  auto done = id.require_device();
  if (done && has_streams(id)) {
    id.disconnected = true;
    close_stream(id);
  } else if (done) {
    done = modify_to_error(id);
  }
  if (!done) return done;
  return start(id, [&](control::CmClient& daemon) { return daemon.disconnect(id.number); });
}

}  // namespace
}  // namespace softrnic::rdmacm

using namespace softrnic;
using namespace softrnic::rdmacm;

SOFTRNIC_EXPORT int rdma_connect(rdma_cm_id* id, rdma_conn_param* conn_param) {
  return abi::minus_one_call([&]() -> Expected<void, Failure> {
    if (id == nullptr) return abi::null_argument();
    return rdmacm::connect(*Id::of(id), conn_param);
  });
}

SOFTRNIC_EXPORT int rdma_accept(rdma_cm_id* id, rdma_conn_param* conn_param) {
  return abi::minus_one_call([&]() -> Expected<void, Failure> {
    if (id == nullptr) return abi::null_argument();
    return rdmacm::accept(*Id::of(id), conn_param);
  });
}

SOFTRNIC_EXPORT int rdma_establish(rdma_cm_id* id) {
  return abi::minus_one_call([&]() -> Expected<void, Failure> {
    if (id == nullptr) return abi::null_argument();
    if (id->qp != nullptr) return rnic::refused(EINVAL, ReasonId::rdma_has_qp, id->qp->qp_num);
    return confirm(*Id::of(id));
  });
}

SOFTRNIC_EXPORT int rdma_reject(rdma_cm_id* id, const void* private_data, uint8_t private_data_len) {
  return abi::minus_one_call([&]() -> Expected<void, Failure> {
    if (id == nullptr) return abi::null_argument();
    return reject(*Id::of(id), private_data, private_data_len, kConsumerReject);
  });
}

SOFTRNIC_EXPORT int rdma_reject_ece(rdma_cm_id* id, const void* private_data, uint8_t private_data_len) {
  return abi::minus_one_call([&]() -> Expected<void, Failure> {
    if (id == nullptr) return abi::null_argument();
    return reject(*Id::of(id), private_data, private_data_len, kVendorOptionNotSupported);
  });
}

SOFTRNIC_EXPORT int rdma_notify(rdma_cm_id* id, ibv_event_type event) {
  return abi::minus_one_call([&]() -> Expected<void, Failure> {
    if (id == nullptr) return abi::null_argument();
    Session& session = *Id::of(id)->session;
    return session.heard(session.daemon.notify(Id::of(id)->number, static_cast<std::uint32_t>(event)));
  });
}

SOFTRNIC_EXPORT int rdma_disconnect(rdma_cm_id* id) {
  return abi::minus_one_call([&]() -> Expected<void, Failure> {
    if (id == nullptr) return abi::null_argument();
    return disconnect(*Id::of(id));
  });
}
