#include "daemon/cm_records.h"

#include <algorithm>
#include <cstring>

namespace softrnic::daemon {
namespace {

void put_gid(std::uint8_t (&out)[16], const wire::Gid& gid) { std::memcpy(out, gid.raw.data(), sizeof out); }

control::CmConnectionParameters to_record(const cma::ConnectionParameters& parameters) {
  control::CmConnectionParameters record;
  record.qpn = parameters.qpn;
  record.qkey = parameters.qkey;
  record.responder_resources = parameters.responder_resources;
  record.initiator_depth = parameters.initiator_depth;
  record.flow_control = parameters.flow_control ? 1 : 0;
  record.retry_count = parameters.retry_count;
  record.rnr_retry_count = parameters.rnr_retry_count;
  record.srq = parameters.srq ? 1 : 0;
  record.valid = 1;
  // those of CM messages have at most 224 bytes; of a longer MPA frame the program sees the beginning
  const std::size_t length = std::min<std::size_t>(parameters.private_data.size(), UINT8_MAX);
  record.private_data_length = static_cast<std::uint8_t>(length);
  if (length != 0) std::memcpy(record.private_data, parameters.private_data.data(), length);
  return record;
}

}  // namespace

control::CmIdRecord to_record(const cma::IdView& view) {
  control::CmIdRecord record;
  record.source = cma::to_sockaddr(view.source);
  record.destination = cma::to_sockaddr(view.destination);
  if (view.binding) {
    put_gid(record.source_gid, view.binding.gid);
    record.node_guid = view.binding.guid;
    record.device_index = view.binding.device;
    record.port = 1;
    record.pkey = view.has_path ? view.path.pkey : view.binding.pkey;
  }
  put_gid(record.destination_gid, view.destination_gid);
  if (!view.has_path) return record;
  record.has_path = 1;
  record.flow_label = view.path.flow_label;
  record.path_mtu = view.path.mtu;
  record.rate = view.path.rate;
  record.packet_life_time = view.packet_life_time;
  record.hop_limit = view.path.hop_limit;
  record.traffic_class = view.path.traffic_class;
  record.sl = view.path.sl;
  record.slid = view.path.local_lid.value;
  record.dlid = view.path.remote_lid.value;
  return record;
}

control::CmAddressVector to_record(const cma::AddressVector& vector) {
  control::CmAddressVector record;
  put_gid(record.gid, vector.gid);
  record.flow_label = vector.flow_label;
  record.sgid_index = vector.sgid_index;
  record.hop_limit = vector.hop_limit;
  record.traffic_class = vector.traffic_class;
  record.sl = vector.sl;
  record.is_global = vector.is_global ? 1 : 0;
  record.lid = vector.dlid.value;
  record.source_path_bits = vector.source_path_bits;
  record.static_rate = vector.static_rate;
  return record;
}

control::StreamGrant to_record(const cma::Handover& handover) {
  const iwarp::MpaAgreement& agreement = handover.agreement;
  const auto flag = [](bool value) { return static_cast<std::uint8_t>(value ? 1 : 0); };
  control::StreamGrant grant;
  grant.token = handover.token;
  grant.ird = agreement.ird;
  grant.ord = agreement.ord;
  grant.revision = agreement.revision;
  grant.rtr = agreement.rtr;
  grant.crc = flag(agreement.crc);
  grant.markers_in = flag(agreement.markers_in);
  grant.markers_out = flag(agreement.markers_out);
  grant.long_fpdus = flag(agreement.long_fpdus);
  grant.extensions = flag(agreement.extensions);
  grant.sends_rtr = flag(agreement.sends_rtr);
  grant.waits_for_peer = flag(agreement.waits_for_peer == iwarp::WaitForPeer::always);
  grant.hesitates = flag(agreement.waits_for_peer == iwarp::WaitForPeer::bounded);
  grant.initiator = flag(handover.initiator);
  if (!handover.same_host) return grant;
  grant.own_qpn = handover.same_host->own.value;
  grant.same_host_qpn = handover.same_host->qpn.value;
  grant.send_psn = handover.same_host->send_psn;
  grant.receive_psn = handover.same_host->receive_psn;
  return grant;
}

control::CmQpAttributesReply to_reply(const cma::QpAttributes& attributes, std::uint32_t serial) {
  auto reply = control::make_message<control::CmQpAttributesReply>(serial);
  reply.mask = attributes.mask;
  reply.state = attributes.state;
  reply.path_mtu = attributes.path_mtu;
  reply.qkey = attributes.qkey;
  reply.rq_psn = attributes.rq_psn;
  reply.sq_psn = attributes.sq_psn;
  reply.dest_qpn = attributes.dest_qpn;
  reply.access_flags = attributes.access_flags;
  reply.address = to_record(attributes.address);
  reply.pkey_index = attributes.pkey_index;
  reply.max_rd_atomic = attributes.max_rd_atomic;
  reply.max_dest_rd_atomic = attributes.max_dest_rd_atomic;
  reply.min_rnr_timer = attributes.min_rnr_timer;
  reply.port = attributes.port;
  reply.timeout = attributes.timeout;
  reply.retry_count = attributes.retry_count;
  reply.rnr_retry = attributes.rnr_retry;
  return reply;
}

control::CmEventReply to_reply(const cma::Event& event, std::uint32_t serial) {
  auto reply = control::make_message<control::CmEventReply>(serial);
  reply.present = 1;
  reply.event = event.kind;
  reply.status = event.status;
  reply.id = event.id;
  reply.cookie = event.cookie;
  reply.argument = event.argument;
  reply.membership = event.membership;
  reply.reason = static_cast<std::uint32_t>(event.reason.id);
  std::copy(event.reason.figures.begin(), event.reason.figures.end(), reply.figures);
  reply.parameters = to_record(event.parameters);
  reply.address = to_record(event.address);
  reply.ece = {event.ece.vendor, event.ece.options};
  return reply;
}

std::optional<cma::ConnectionParameters> from_record(const control::CmConnectionParameters& record) {
  if (record.valid == 0) return std::nullopt;
  cma::ConnectionParameters parameters;
  parameters.qpn = record.qpn;
  parameters.qkey = record.qkey;
  parameters.responder_resources = record.responder_resources;
  parameters.initiator_depth = record.initiator_depth;
  parameters.flow_control = record.flow_control != 0;
  parameters.retry_count = record.retry_count;
  parameters.rnr_retry_count = record.rnr_retry_count;
  parameters.srq = record.srq != 0;
  parameters.stream_only = record.stream_only != 0;
  const auto data = std::as_bytes(std::span(record.private_data)).first(record.private_data_length);
  parameters.private_data.assign(data.begin(), data.end());
  return parameters;
}

cm::Ece from_record(const control::CmEce& record) { return {record.vendor, record.options}; }

}  // namespace softrnic::daemon
