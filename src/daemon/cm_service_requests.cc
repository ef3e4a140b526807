// The requests of librdmacm, one function each.
#include <cerrno>
#include <cstring>

#include "base/reason_id.h"
#include "cma/manager.h"
#include "daemon/cm_records.h"
#include "daemon/cm_service.h"

namespace softrnic::daemon {

using namespace control;

const DispatchRow<CmService> CmService::kRows[] = {
    dispatch_row<&CmService::open_channel>(),    dispatch_row<&CmService::close_channel>(),
    dispatch_row<&CmService::create_id>(),       dispatch_row<&CmService::destroy_id>(),
    dispatch_row<&CmService::query_id>(),        dispatch_row<&CmService::bind>(),
    dispatch_row<&CmService::resolve_address>(), dispatch_row<&CmService::resolve_route>(),
    dispatch_row<&CmService::connect>(),         dispatch_row<&CmService::listen>(),
    dispatch_row<&CmService::accept>(),          dispatch_row<&CmService::reject>(),
    dispatch_row<&CmService::disconnect>(),      dispatch_row<&CmService::init_qp_attributes>(),
    dispatch_row<&CmService::notify>(),          dispatch_row<&CmService::set_option>(),
    dispatch_row<&CmService::join_multicast>(),  dispatch_row<&CmService::leave_multicast>(),
    dispatch_row<&CmService::migrate_id>(),      dispatch_row<&CmService::get_event>(),
    dispatch_row<&CmService::write_event>(),     dispatch_row<&CmService::next_id>(),
    dispatch_row<&CmService::streams_ended>(),   dispatch_row<&CmService::has_stream>(),
};

std::optional<Answer> CmService::handle(Connection& from, Bytes datagram, UniqueFd& fd) {
  return dispatch<CmService>(kRows, *this, from, datagram, fd);
}

namespace {

Failure no_such_id(cma::IdNumber id) { return refuse(ENOENT, ReasonId::cma_no_such_id, id); }

Failure bad_family() { return refuse(EAFNOSUPPORT, ReasonId::cma_family); }

/// As CmEventsReply has them.
struct EventCounts {
  std::uint32_t fetched = 0, waiting = 0, withdrawn = 0;
};

Answer count_reply(std::uint32_t serial, const EventCounts& counts) {
  auto reply = make_message<CmEventsReply>(serial);
  reply.fetched = counts.fetched;
  reply.waiting = counts.waiting;
  reply.withdrawn = counts.withdrawn;
  return answer_with(reply);
}

template <typename Message>
Answer count_or_refused(const Message& message, const Expected<std::uint32_t, Failure>& fetched,
                        std::uint32_t withdrawn) {
  return fetched ? count_reply(message.header.serial, {.fetched = *fetched, .withdrawn = withdrawn})
                 : refused(message, fetched.error());
}

}  // namespace

template <typename Message, typename Call>
Answer CmService::about(const Connection& from, const Message& message, Call call) {
  if (!owns(from, message.id)) return refused(message, no_such_id(message.id));
  return call(manager());
}

Answer CmService::id_reply(std::uint32_t serial, cma::IdNumber id) {
  auto reply = make_message<CmIdReply>(serial);
  reply.id = id;
  if (const auto view = manager().view(id)) reply.record = to_record(*view);
  return answer_with(reply);
}

template <typename Reply>
Answer CmService::with_stream(Reply& reply, cma::IdNumber id) {
  const auto handover = manager().handover(id);
  UniqueFd socket = handover ? tcp_.take(handover->stream) : UniqueFd();
  if (!socket) return answer_with(reply);
  manager().streams().taken(handover->stream);
  reply.stream = to_record(*handover);
  Answer answer = answer_with(reply, socket.get());
  answer.own_fd = std::move(socket);
  return answer;
}

Answer CmService::create_id(Connection& from, const CmCreateId& message, UniqueFd) {
  const auto device = text_in(message.device);
  if (!device) return refused(message, refuse(EINVAL, ReasonId::link_name_bad, kDeviceNameSize));
  if (!owns_channel(from, message.channel))
    return refused(message, refuse(EINVAL, ReasonId::cma_no_such_channel, message.channel));
  const uid_t user = from.credentials.user();
  if (limits_)
    if (auto may = check_limit(user, ids_of(user), limits_->ids, UserQuota::ids); !may)
      return refused(message, may.error());
  const auto id = manager().create(
      {message.cookie, message.channel, message.port_space, message.qp_type, std::string(*device), user});
  return id ? id_reply(message.header.serial, *id) : refused(message, id.error());
}

Answer CmService::destroy_id(Connection& from, const CmDestroyId& message, UniqueFd) {
  return about(from, message, [&](cma::Manager& m) {
    const cma::ChannelNumber channel = m.channel_of(message.id);
    if (message.patient != 0) {
      const auto waiting = m.quiesce(message.id);
      if (waiting && *waiting != 0)
        return count_reply(message.header.serial, {.waiting = *waiting, .withdrawn = m.withdrawn(channel)});
    }
    const auto fetched = m.destroy(message.id);
    return count_or_refused(message, fetched, m.withdrawn(channel));
  });
}

Answer CmService::query_id(Connection& from, const CmQueryId& message, UniqueFd) {
  return about(from, message, [&](cma::Manager&) { return id_reply(message.header.serial, message.id); });
}

Answer CmService::bind(Connection& from, const CmBind& message, UniqueFd) {
  const auto address = cma::from_sockaddr(message.address);
  if (!address) return refused(message, bad_family());
  if (const auto may = check_port(from, address->port); !may) return refused(message, may.error());
  return about(from, message, [&](cma::Manager& m) {
    const auto bound = m.bind(message.id, *address);
    return bound ? id_reply(message.header.serial, message.id) : refused(message, bound.error());
  });
}

Answer CmService::resolve_address(Connection& from, const CmResolveAddress& message, UniqueFd) {
  const auto source = cma::from_sockaddr(message.source);
  const auto destination = cma::from_sockaddr(message.destination);
  if (!source || !destination) return refused(message, bad_family());
  if (const auto may = check_port(from, source->port); !may) return refused(message, may.error());
  return about(from, message, [&](cma::Manager& m) {
    const auto timeout = std::chrono::milliseconds(message.timeout_ms);
    return done_or_refused(message, m.resolve_address(message.id, *source, *destination, timeout));
  });
}

Answer CmService::resolve_route(Connection& from, const CmResolveRoute& message, UniqueFd) {
  return about(from, message, [&](cma::Manager& m) {
    const auto timeout = std::chrono::milliseconds(message.timeout_ms);
    return done_or_refused(message, m.resolve_route(message.id, timeout));
  });
}

Answer CmService::connect(Connection& from, const CmConnect& message, UniqueFd) {
  return about(from, message, [&](cma::Manager& m) {
    const auto parameters = from_record(message.parameters).value_or(cma::ConnectionParameters{});
    return done_or_refused(message, m.connect(message.id, parameters, from_record(message.ece)));
  });
}

Answer CmService::listen(Connection& from, const CmListen& message, UniqueFd) {
  return about(from, message, [&](cma::Manager& m) {
    return done_or_refused(message, m.listen(message.id, message.backlog));
  });
}

Answer CmService::accept(Connection& from, const CmAccept& message, UniqueFd) {
  return about(from, message, [&](cma::Manager& m) {
    const auto accepted =
        m.accept(message.id, message.cookie, from_record(message.parameters), from_record(message.ece));
    if (!accepted) return refused(message, accepted.error());
    auto reply = make_message<CmAcceptReply>(message.header.serial);
    return with_stream(reply, message.id);
  });
}

Answer CmService::reject(Connection& from, const CmReject& message, UniqueFd) {
  return about(from, message, [&](cma::Manager& m) {
    const Bytes data = std::as_bytes(std::span(message.private_data)).first(message.private_data_length);
    return done_or_refused(message,
                           m.reject(message.id, static_cast<cm::RejectReason>(message.reason), data));
  });
}

Answer CmService::disconnect(Connection& from, const CmDisconnect& message, UniqueFd) {
  return about(from, message,
               [&](cma::Manager& m) { return done_or_refused(message, m.disconnect(message.id)); });
}

Answer CmService::init_qp_attributes(Connection& from, const CmInitQpAttributes& message, UniqueFd) {
  return about(from, message, [&](cma::Manager& m) {
    const auto attributes = m.init_qp_attributes(message.id, message.state);
    return attributes ? answer_with(to_reply(*attributes, message.header.serial))
                      : refused(message, attributes.error());
  });
}

Answer CmService::notify(Connection& from, const CmNotify& message, UniqueFd) {
  return about(from, message, [&](cma::Manager& m) {
    return done_or_refused(message, m.notify(message.id, message.event));
  });
}

Answer CmService::has_stream(Connection& from, const CmHasStream& message, UniqueFd) {
  return about(from, message,
               [&](cma::Manager& m) { return done_or_refused(message, m.has_stream(message.id)); });
}

Answer CmService::set_option(Connection& from, const CmSetOption& message, UniqueFd) {
  if (message.length > kCmOptionSize)
    return refused(message, refuse(EINVAL, ReasonId::cma_option_value, message.option, message.length));
  return about(from, message, [&](cma::Manager& m) {
    const Bytes value = std::as_bytes(std::span(message.value)).first(message.length);
    return done_or_refused(message, m.set_option(message.id, message.level, message.option, value));
  });
}

Answer CmService::join_multicast(Connection& from, const CmJoinMulticast& message, UniqueFd) {
  const auto group = cma::from_sockaddr(message.address);
  if (!group) return refused(message, bad_family());
  return about(from, message, [&](cma::Manager& m) {
    const auto membership = m.join_multicast(message.id, message.cookie, message.flags, *group);
    if (!membership) return refused(message, membership.error());
    auto reply = make_message<CmIdReply>(message.header.serial);
    reply.id = *membership;
    return answer_with(reply);
  });
}

Answer CmService::leave_multicast(Connection& from, const CmLeaveMulticast& message, UniqueFd) {
  const cma::ChannelNumber channel = manager().channel_of(manager().id_of(message.membership));
  if (!owns_channel(from, channel))
    return refused(message, refuse(EADDRNOTAVAIL, ReasonId::cma_no_membership, message.membership));
  const auto fetched = manager().leave_multicast(message.membership);
  return count_or_refused(message, fetched, manager().withdrawn(channel));
}

Answer CmService::migrate_id(Connection& from, const CmMigrateId& message, UniqueFd) {
  if (!owns_channel(from, message.channel))
    return refused(message, refuse(EINVAL, ReasonId::cma_no_such_channel, message.channel));
  return about(from, message, [&](cma::Manager& m) {
    const cma::ChannelNumber before = m.channel_of(message.id);
    const auto fetched = m.migrate(message.id, message.channel);
    return count_or_refused(message, fetched, m.withdrawn(before));
  });
}

Answer CmService::get_event(Connection& from, const CmGetEvent& message, UniqueFd) {
  if (!owns_channel(from, message.channel))
    return refused(message, refuse(EINVAL, ReasonId::cma_no_such_channel, message.channel));
  const auto event = manager().next_event(message.channel);
  auto reply =
      event ? to_reply(*event, message.header.serial) : make_message<CmEventReply>(message.header.serial);
  reply.withdrawn = manager().withdrawn(message.channel);
  if (!event) return answer_with(reply);
  if (const auto view = manager().view(event->id)) reply.record = to_record(*view);
  return event->has_stream ? with_stream(reply, event->id) : answer_with(reply);
}

// A token is known only to who was given the stream, and tells of its process whichever connection that
// takes.
Answer CmService::streams_ended(Connection& from, const CmStreamsEnded& message, UniqueFd) {
  const std::span tokens(message.tokens, std::min<std::size_t>(message.count, CmStreamsEnded::kMost));
  for (const std::uint64_t token : tokens) {
    const auto channel = channels_.find(manager().channel_of(manager().id_with_token(token)));
    if (channel == channels_.end()) continue;
    if (channel->second.owner->credentials.user() == from.credentials.user())
      manager().streams().stream_over(token);
  }
  return done(message);
}

Answer CmService::write_event(Connection& from, const CmWriteEvent& message, UniqueFd) {
  return about(from, message, [&](cma::Manager& m) {
    return done_or_refused(message,
                           m.write_event(message.id, message.event, message.status, message.argument));
  });
}

// The ids of other users are not shown.
bool CmService::may_list(const Connection& from, cma::IdNumber id) {
  const auto channel = channels_.find(manager().channel_of(id));
  return channel == channels_.end() ? !limits_
                                    : channel->second.owner->credentials.user() == from.credentials.user();
}

Answer CmService::next_id(Connection& from, const CmNextId& message, UniqueFd) {
  auto reply = make_message<CmIdListing>(message.header.serial);
  cma::IdNumber id =
      message.after < UINT32_MAX ? manager().next_id(static_cast<cma::IdNumber>(message.after)) : 0;
  while (id != 0 && !may_list(from, id)) id = manager().next_id(id);
  const auto view = manager().view(id);
  if (!view) return answer_with(reply);
  reply.key = id;
  reply.local_qpn = view->local_qpn;
  reply.remote_qpn = view->remote_qpn;
  reply.port_space = static_cast<std::uint16_t>(view->space);
  reply.qp_type = static_cast<std::uint8_t>(view->qp_type);
  put_text(reply.state, cma::name_of(view->state));
  if (const auto channel = channels_.find(manager().channel_of(id)); channel != channels_.end()) {
    reply.pid = channel->second.owner->pid;
    put_text(reply.comm, channel->second.owner->comm);
  }
  for (const device::DeviceInfo& device : devices_)
    if (view->binding && device.index == view->binding.device) put_text(reply.device, device.name);
  reply.record = to_record(*view);
  return answer_with(reply);
}

}  // namespace softrnic::daemon
