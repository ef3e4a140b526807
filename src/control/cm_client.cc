#include "control/cm_client.h"

#include <algorithm>

namespace softrnic::control {
namespace {

template <typename Message>
Message about(CmNumber id) {
  auto message = make_message<Message>();
  message.id = id;
  return message;
}

}  // namespace

template <typename Request>
Expected<void, Error> CmClient::done(const Request& request) {
  const auto reply = client_->ask_for<Done>(request);
  if (!reply) return Unexpected{reply.error()};
  return {};
}

template <typename Request>
Expected<std::uint32_t, Error> CmClient::fetched_after(const Request& request) {
  const auto reply = client_->ask_for<CmEventsReply>(request);
  if (!reply) return Unexpected{reply.error()};
  return reply->fetched;
}

// ---- channels

Expected<std::uint32_t, Error> CmClient::open_channel(int events) {
  const auto reply = client_->ask_for<CmChannelReply>(make_message<CmOpenChannel>(), events);
  if (!reply) return Unexpected{reply.error()};
  return reply->channel;
}

Expected<void, Error> CmClient::close_channel(std::uint32_t channel) {
  auto request = make_message<CmCloseChannel>();
  request.channel = channel;
  return done(request);
}

Expected<CmEventReply, Error> CmClient::next_event(std::uint32_t channel) {
  auto request = make_message<CmGetEvent>();
  request.channel = channel;
  return client_->ask_for<CmEventReply>(request);
}

// ---- ids

Expected<CmIdReply, Error> CmClient::create_id(std::uint32_t channel, std::uint16_t port_space,
                                               std::uint8_t qp_type, std::uint64_t cookie) {
  auto request = make_message<CmCreateId>();
  request.cookie = cookie;
  request.channel = channel;
  request.port_space = port_space;
  request.qp_type = qp_type;
  return client_->ask_for<CmIdReply>(request);
}

Expected<std::uint32_t, Error> CmClient::destroy_id(CmNumber id) {
  return fetched_after(about<CmDestroyId>(id));
}

Expected<CmIdRecord, Error> CmClient::query_id(CmNumber id) {
  const auto reply = client_->ask_for<CmIdReply>(about<CmQueryId>(id));
  if (!reply) return Unexpected{reply.error()};
  return reply->record;
}

Expected<std::uint32_t, Error> CmClient::migrate_id(CmNumber id, std::uint32_t channel) {
  auto request = about<CmMigrateId>(id);
  request.channel = channel;
  return fetched_after(request);
}

// ---- addresses and routes

Expected<CmIdRecord, Error> CmClient::bind(CmNumber id, const sockaddr_storage& address) {
  auto request = about<CmBind>(id);
  request.address = address;
  const auto reply = client_->ask_for<CmIdReply>(request);
  if (!reply) return Unexpected{reply.error()};
  return reply->record;
}

Expected<void, Error> CmClient::resolve_address(CmNumber id, const sockaddr_storage& source,
                                                const sockaddr_storage& destination,
                                                std::uint32_t timeout_ms) {
  auto request = about<CmResolveAddress>(id);
  request.timeout_ms = timeout_ms;
  request.source = source;
  request.destination = destination;
  return done(request);
}

Expected<void, Error> CmClient::resolve_route(CmNumber id, std::uint32_t timeout_ms) {
  auto request = about<CmResolveRoute>(id);
  request.timeout_ms = timeout_ms;
  return done(request);
}

Expected<void, Error> CmClient::set_option(CmNumber id, std::uint32_t level, std::uint32_t option,
                                           std::span<const std::uint8_t> value) {
  auto request = about<CmSetOption>(id);
  request.level = level;
  request.option = option;
  request.length = static_cast<std::uint32_t>(value.size());
  std::copy_n(value.begin(), std::min(value.size(), kCmOptionSize), request.value);
  return done(request);
}

// ---- connections

Expected<void, Error> CmClient::listen(CmNumber id, std::int32_t backlog) {
  auto request = about<CmListen>(id);
  request.backlog = backlog;
  return done(request);
}

Expected<void, Error> CmClient::connect(CmNumber id, const CmConnectionParameters& parameters,
                                        const CmEce& ece) {
  auto request = about<CmConnect>(id);
  request.parameters = parameters;
  request.ece = ece;
  return done(request);
}

Expected<void, Error> CmClient::accept(CmNumber id, std::uint64_t cookie,
                                       const CmConnectionParameters& parameters, const CmEce& ece) {
  auto request = about<CmAccept>(id);
  request.cookie = cookie;
  request.parameters = parameters;
  request.ece = ece;
  return done(request);
}

Expected<void, Error> CmClient::reject(CmNumber id, std::uint8_t reason,
                                       std::span<const std::uint8_t> private_data) {
  auto request = about<CmReject>(id);
  request.reason = reason;
  request.private_data_length = static_cast<std::uint8_t>(private_data.size());
  std::copy_n(private_data.begin(), std::min(private_data.size(), kCmPrivateData), request.private_data);
  return done(request);
}

Expected<void, Error> CmClient::disconnect(CmNumber id) { return done(about<CmDisconnect>(id)); }

Expected<CmQpAttributesReply, Error> CmClient::qp_attributes(CmNumber id, std::uint32_t state) {
  auto request = about<CmInitQpAttributes>(id);
  request.state = state;
  return client_->ask_for<CmQpAttributesReply>(request);
}

Expected<void, Error> CmClient::notify(CmNumber id, std::uint32_t event) {
  auto request = about<CmNotify>(id);
  request.event = event;
  return done(request);
}

// ---- multicast

Expected<CmNumber, Error> CmClient::join_multicast(CmNumber id, const sockaddr_storage& group,
                                                   std::uint32_t flags, std::uint64_t cookie) {
  auto request = about<CmJoinMulticast>(id);
  request.cookie = cookie;
  request.flags = flags;
  request.address = group;
  const auto reply = client_->ask_for<CmIdReply>(request);
  if (!reply) return Unexpected{reply.error()};
  return reply->id;
}

Expected<std::uint32_t, Error> CmClient::leave_multicast(CmNumber membership) {
  auto request = make_message<CmLeaveMulticast>();
  request.membership = membership;
  return fetched_after(request);
}

}  // namespace softrnic::control
