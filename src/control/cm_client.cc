#include "control/cm_client.h"

#include <rdma/rdma_cma.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <type_traits>
#include <utility>

#include "base/reason_id.h"

namespace softrnic::control {
namespace {

constexpr int kRequestAttempts = 8;  ///< daemons may die under a request

template <typename Message>
Message about(CmNumber id) {
  auto message = make_message<Message>();
  message.id = id;
  return message;
}

/// False: the daemon knows nothing of what the request is about.
template <typename Request>
bool translate(CmJournal& journal, Request& request) {
  bool known = true;
  if constexpr (requires { request.channel; })
    known = (request.channel = journal.daemons_channel(request.channel)) != 0;
  if constexpr (requires { request.id; }) known = (request.id = journal.daemons_id(request.id)) != 0 && known;
  if constexpr (requires { request.membership; })
    known = (request.membership = journal.daemons_membership(request.membership)) != 0;
  return known;
}

Error unknown() { return make_error(refuse(ENOENT, ReasonId::cm_id_lost)); }

bool is_gone(const Error& error) { return error.failure.reason.id == ReasonId::daemon_gone; }

}  // namespace

// ---- a daemon after a dead one

bool CmClient::come_back() {
  const std::lock_guard lock(mutex_);
  auto found = Client::connect({.daemon_path = {}, .spawn = false, .kind = client_->kind()});
  if (found && journal_.tell(**found)) {
    client_ = std::move(*found);
  } else if (!found && found.error().failure.error != ECONNREFUSED) {
    given_up_ = true;
  }  // else that daemon has died as well, which is about to be heard of
  settled_.notify_all();
  return !given_up_;
}

void CmClient::give_up() {
  const std::lock_guard lock(mutex_);
  given_up_ = true;
  settled_.notify_all();
}

bool CmClient::comes_back(const std::shared_ptr<Client>& lost) {
  if (!watched_.load(std::memory_order_relaxed)) return false;
  std::unique_lock lock(mutex_);
  settled_.wait_for(lock, kAnswerTimeout, [&] { return client_ != lost || given_up_; });
  return client_ != lost;
}

// ---- requests

template <typename Reply, typename Request>
Expected<Reply, Error> CmClient::ask(const Request& request, const CommitReply<Reply>& commit, int fd,
                                     UniqueFd* reply_fd) {
  if (getpid() != owner_) return Unexpected{make_error(refuse(EPERM, ReasonId::forked_child))};
  for (int attempt = 1;; ++attempt) {
    std::shared_ptr<Client> client;
    Request translated = request;
    {
      const std::lock_guard lock(mutex_);
      client = client_;
      if (!translate(journal_, translated)) return Unexpected{unknown()};
    }
    auto reply = client->ask_for<Reply>(translated, fd, reply_fd);
    if (reply) {
      const std::lock_guard lock(mutex_);
      if (client == client_) {
        if (commit) commit(journal_, *reply);
        return reply;
      }  // else what it made is gone with it
    } else if (!is_gone(reply.error()) || attempt == kRequestAttempts || !comes_back(client)) {
      return reply;
    }
    // A thread that asks for an event holds a count of the dead daemon; the next one counts anew.
    if constexpr (std::is_same_v<Request, CmGetEvent>) return Reply{};
  }
}

template <typename Request>
Expected<void, Error> CmClient::done(const Request& request, const Commit& commit) {
  const auto reply = ask<Done>(request, [&](CmJournal& journal, Done&) {
    if (commit) commit(journal);
  });
  if (!reply) return Unexpected{reply.error()};
  return {};
}

template <typename Request>
Expected<std::uint32_t, Error> CmClient::fetched_after(const Request& request, CmNumber id,
                                                       const Commit& commit) {
  const auto reply = ask<CmEventsReply>(request, [&](CmJournal& journal, CmEventsReply& events) {
    journal.withdraw(journal.channel_of(id), events.withdrawn);
    commit(journal);
  });
  if (!reply) return Unexpected{reply.error()};
  return reply->fetched;
}

// Before the request, as its event may come before its answer.
void CmClient::await(CmNumber id, std::uint32_t failure) {
  const std::lock_guard lock(mutex_);
  if (CmJournal::Id* const entry = journal_.id(id)) entry->awaited = failure;
}

template <typename Request>
Expected<void, Error> CmClient::start(const Request& request, std::uint32_t failure) {
  await(request.id, failure);
  auto started = done(request, [&](CmJournal& journal) {
    if (CmJournal::Id* const entry = journal.id(request.id)) entry->has_peer = true;
  });
  if (!started) await(request.id, 0);
  return started;
}

// ---- channels

Expected<std::uint32_t, Error> CmClient::open_channel(rnic::EventCount& count) {
  const auto reply = ask<CmChannelReply>(
      make_message<CmOpenChannel>(),
      [&](CmJournal& journal, CmChannelReply& made) {
        made.channel = journal.add_channel(made.channel, count);
      },
      count.fd());
  if (!reply) return Unexpected{reply.error()};
  return reply->channel;
}

Expected<void, Error> CmClient::close_channel(std::uint32_t channel) {
  auto request = make_message<CmCloseChannel>();
  request.channel = channel;
  auto closed = done(request);
  const std::lock_guard lock(mutex_);
  journal_.remove_channel(channel);  // the count goes, whatever the daemon says
  return closed;
}

std::optional<CmEventReply> CmClient::own_event(std::uint32_t channel) {
  const std::lock_guard lock(mutex_);
  CmJournal::Channel* const of = journal_.channel(channel);
  if (of == nullptr || of->own_events.empty()) return std::nullopt;
  const CmEventReply event = of->own_events.front();
  of->own_events.pop_front();
  return event;
}

Expected<CmEventReply, Error> CmClient::next_event(std::uint32_t channel, UniqueFd* socket) {
  if (getpid() == owner_)
    if (const auto event = own_event(channel)) return *event;
  auto request = make_message<CmGetEvent>();
  request.channel = channel;
  const auto commit = [&](CmJournal& journal, CmEventReply& event) {
    if (event.present == 0) return journal.found_none(channel, event.withdrawn);
    journal.withdraw(channel, event.withdrawn);
    journal.translate(event, channel);
  };
  return ask<CmEventReply>(request, commit, -1, socket);
}

// Noted before the request, as the event may be fetched before its answer comes.
Expected<void, Error> CmClient::write_event(CmNumber id, std::uint32_t event, int status,
                                            std::uint64_t argument) {
  auto request = about<CmWriteEvent>(id);
  request.event = event;
  request.status = status;
  request.argument = argument;
  if (getpid() == owner_) {
    const std::lock_guard lock(mutex_);
    journal_.note_written(request);
  }
  auto written = done(request, [&](CmJournal& journal) { journal.confirm_written(request); });
  if (written || getpid() != owner_) return written;
  const std::lock_guard lock(mutex_);
  journal_.forget_written(request);
  if (written.error().failure.error == ENOENT && journal_.is_lost(id)) {
    journal_.say(request);
    return {};
  }
  return written;
}

// ---- ids

Expected<CmIdReply, Error> CmClient::create_id(std::uint32_t channel, std::uint16_t port_space,
                                               std::uint8_t qp_type, std::uint64_t cookie,
                                               const std::string& device) {
  auto request = make_message<CmCreateId>();
  request.cookie = cookie;
  request.channel = channel;
  request.port_space = port_space;
  request.qp_type = qp_type;
  if (!put_text(request.device, device))  // no device has such a name
    return Unexpected{make_error(refuse(EINVAL, ReasonId::link_name_bad, device.size()))};
  return ask<CmIdReply>(
      request, [&](CmJournal& journal, CmIdReply& made) { made.id = journal.add_id(made.id, request); });
}

Expected<CmEventsReply, Error> CmClient::destroy_id(CmNumber id, bool patient) {
  auto request = about<CmDestroyId>(id);
  request.patient = patient ? 1 : 0;
  auto reply = ask<CmEventsReply>(request, [id](CmJournal& journal, CmEventsReply& events) {
    journal.withdraw(journal.channel_of(id), events.withdrawn);
  });
  const bool ended = reply ? reply->waiting == 0 : reply.error().failure.error == ENOENT;
  if (getpid() != owner_ || !ended) return reply;
  const std::lock_guard lock(mutex_);
  journal_.remove_id(id);
  return reply;
}

Expected<CmIdRecord, Error> CmClient::query_id(CmNumber id) {
  const auto reply = ask<CmIdReply>(about<CmQueryId>(id), [&](CmJournal& journal, CmIdReply& found) {
    CmJournal::Id* const entry = journal.id(id);
    if (entry != nullptr && entry->backlog)
      entry->bound = found.record.source;  // with the port that was given
  });
  if (!reply) return Unexpected{reply.error()};
  return reply->record;
}

Expected<std::uint32_t, Error> CmClient::migrate_id(CmNumber id, std::uint32_t channel) {
  auto request = about<CmMigrateId>(id);
  request.channel = channel;
  return fetched_after(request, id, [=](CmJournal& journal) {
    if (CmJournal::Id* const entry = journal.id(id)) entry->creation.channel = channel;
  });
}

// ---- addresses and routes

Expected<CmIdRecord, Error> CmClient::bind(CmNumber id, const sockaddr_storage& address) {
  auto request = about<CmBind>(id);
  request.address = address;
  const auto reply = ask<CmIdReply>(request, [=](CmJournal& journal, CmIdReply& bound) {
    if (CmJournal::Id* const entry = journal.id(id)) entry->bound = bound.record.source;
  });
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
  return start(request, RDMA_CM_EVENT_ADDR_ERROR);
}

Expected<void, Error> CmClient::resolve_route(CmNumber id, std::uint32_t timeout_ms) {
  auto request = about<CmResolveRoute>(id);
  request.timeout_ms = timeout_ms;
  return start(request, RDMA_CM_EVENT_ROUTE_ERROR);
}

Expected<void, Error> CmClient::set_option(CmNumber id, std::uint32_t level, std::uint32_t option,
                                           std::span<const std::uint8_t> value) {
  auto request = about<CmSetOption>(id);
  request.level = level;
  request.option = option;
  request.length = static_cast<std::uint32_t>(value.size());
  std::copy_n(value.begin(), std::min(value.size(), kCmOptionSize), request.value);
  return done(request, [&](CmJournal& journal) {
    CmJournal::Id* const entry = journal.id(id);
    if (entry == nullptr) return;
    std::erase_if(entry->options, [&](const auto& known) {
      return known.level == request.level && known.option == request.option;
    });
    entry->options.push_back(request);
  });
}

// ---- connections

Expected<void, Error> CmClient::listen(CmNumber id, std::int32_t backlog) {
  auto request = about<CmListen>(id);
  request.backlog = backlog;
  return done(request, [=](CmJournal& journal) {
    if (CmJournal::Id* const entry = journal.id(id)) entry->backlog = backlog;
  });
}

Expected<void, Error> CmClient::connect(CmNumber id, const CmConnectionParameters& parameters,
                                        const CmEce& ece) {
  auto request = about<CmConnect>(id);
  request.parameters = parameters;
  request.ece = ece;
  return start(request, RDMA_CM_EVENT_CONNECT_ERROR);
}

Expected<CmStream, Error> CmClient::accept(CmNumber id, std::uint64_t cookie,
                                           const CmConnectionParameters& parameters, const CmEce& ece) {
  auto request = about<CmAccept>(id);
  request.cookie = cookie;
  request.parameters = parameters;
  request.ece = ece;
  {
    const std::lock_guard lock(mutex_);
    if (CmJournal::Id* const entry = journal_.id(id)) entry->creation.cookie = cookie;
  }
  await(id, RDMA_CM_EVENT_CONNECT_ERROR);
  CmStream stream;
  const auto has_peer = [id](CmJournal& journal, CmAcceptReply&) {
    if (CmJournal::Id* const entry = journal.id(id)) entry->has_peer = true;
  };
  const auto reply = ask<CmAcceptReply>(request, has_peer, -1, &stream.socket);
  if (!reply) {
    await(id, 0);
    return Unexpected{reply.error()};
  }
  stream.grant = reply->stream;
  return stream;
}

Expected<void, Error> CmClient::has_stream(CmNumber id) { return done(about<CmHasStream>(id)); }

Expected<void, Error> CmClient::streams_ended(std::span<const std::uint64_t> tokens) {
  std::shared_ptr<Client> client;
  {
    const std::lock_guard lock(mutex_);
    client = client_;
  }
  return client->streams_ended(tokens);
}

Expected<void, Error> CmClient::reject(CmNumber id, std::uint8_t reason,
                                       std::span<const std::uint8_t> private_data) {
  auto request = about<CmReject>(id);
  request.reason = reason;
  request.private_data_length = static_cast<std::uint8_t>(private_data.size());
  std::copy_n(private_data.begin(), std::min(private_data.size(), kCmPrivateData), request.private_data);
  return done(request);
}

// Of a connection that was lost with its daemon the peer cannot be told; the program's side ends in order.
Expected<void, Error> CmClient::disconnect(CmNumber id) {
  if (getpid() == owner_) {
    const std::lock_guard lock(mutex_);
    CmJournal::Id* const entry = journal_.id(id);
    if (entry != nullptr && entry->number == 0 && std::exchange(entry->has_peer, false)) {
      journal_.say(id, RDMA_CM_EVENT_DISCONNECTED);
      return {};
    }
  }
  return start(about<CmDisconnect>(id), RDMA_CM_EVENT_DISCONNECTED);
}

Expected<CmQpAttributesReply, Error> CmClient::qp_attributes(CmNumber id, std::uint32_t state) {
  auto request = about<CmInitQpAttributes>(id);
  request.state = state;
  return ask<CmQpAttributesReply>(request);
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
  const auto reply = ask<CmIdReply>(
      request, [](CmJournal& journal, CmIdReply& joined) { joined.id = journal.add_membership(joined.id); });
  if (!reply) return Unexpected{reply.error()};
  return reply->id;
}

Expected<std::uint32_t, Error> CmClient::leave_multicast(CmNumber id, CmNumber membership) {
  auto request = make_message<CmLeaveMulticast>();
  request.membership = membership;
  return fetched_after(request, id, [=](CmJournal& journal) { journal.remove_membership(membership); });
}

}  // namespace softrnic::control
