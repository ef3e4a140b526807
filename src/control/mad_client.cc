#include "control/mad_client.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "base/reason_id.h"
#include "control/channel.h"

namespace softrnic::control {
namespace {

template <typename Message>
Expected<Message, Error> about(const std::string& ca, std::uint32_t port) {
  auto message = make_message<Message>();
  message.port = port;
  if (!put_text(message.ca, ca)) return Unexpected{make_error(refuse(ENODEV, ReasonId::mad_no_port, port))};
  return message;
}

Error bad_reply() { return make_error(refuse(EPROTO, ReasonId::daemon_unreachable, EPROTO)); }

}  // namespace

Expected<std::vector<std::string>, Error> MadClient::cas() {
  const auto reply = client_->ask_for<MadCasReply>(make_message<MadListCas>());
  if (!reply) return Unexpected{reply.error()};
  if (reply->count > kMaxDevices) return Unexpected{bad_reply()};
  std::vector<std::string> names;
  for (std::size_t i = 0; i < reply->count; ++i) {
    const auto name = text_in(reply->names[i]);
    if (!name) return Unexpected{bad_reply()};
    names.emplace_back(*name);
  }
  return names;
}

Expected<MadCa, Error> MadClient::ca(const std::string& name) {
  const auto request = about<MadQueryCa>(name, 0);
  if (!request) return Unexpected{request.error()};
  const auto reply = client_->ask_for<MadCaReply>(*request);
  if (!reply) return Unexpected{reply.error()};
  auto ca = from_record(reply->ca);
  if (!ca) return Unexpected{bad_reply()};
  return std::move(*ca);
}

Expected<std::string, Error> MadClient::issm_path(const std::string& ca, std::uint32_t port) {
  const auto request = about<MadIssmPath>(ca, port);
  if (!request) return Unexpected{request.error()};
  const auto reply = client_->ask_for<MadPathReply>(*request);
  if (!reply) return Unexpected{reply.error()};
  const auto path = text_in(reply->path);
  if (!path) return Unexpected{bad_reply()};
  return std::string(*path);
}

Expected<MadPortGrant, Error> MadClient::open_port(const std::string& ca, std::uint32_t port) {
  const auto request = about<MadOpenPort>(ca, port);
  if (!request) return Unexpected{request.error()};
  MadPortGrant grant;
  const auto reply = client_->ask_for<MadPortReply>(*request, -1, &grant.socket);
  if (!reply) return Unexpected{reply.error()};
  grant.number = reply->port;
  if (grant.socket) return grant;
  static_cast<void>(close_port(grant.number));  // this process has no room for it
  return Unexpected{make_error(refuse(EMFILE, ReasonId::out_of_fds, EMFILE))};
}

Expected<void, Error> MadClient::close_port(MadPortNumber port) {
  auto request = make_message<MadClosePort>();
  request.port = port;
  return without_value(client_->ask_for<Done>(request));
}

Expected<std::uint32_t, Error> MadClient::register_agent(MadPortNumber port,
                                                         const mad::Registration& wanted) {
  constexpr std::bitset<128> kLow(UINT64_MAX);
  auto request = make_message<MadRegisterAgent>();
  request.port = port;
  request.oui = wanted.oui;
  request.methods[0] = (wanted.methods & kLow).to_ullong();
  request.methods[1] = (wanted.methods >> 64).to_ullong();
  request.queue = static_cast<std::uint8_t>(wanted.queue);
  request.management_class = static_cast<std::uint8_t>(wanted.management_class);
  request.class_version = wanted.class_version;
  request.rmpp_version = wanted.rmpp_version;
  request.does_rmpp_itself = wanted.does_rmpp_itself ? 1 : 0;
  const auto reply = client_->ask_for<MadAgentReply>(request);
  if (!reply) return Unexpected{reply.error()};
  if (reply->agent >= mad::Agents::kAgentsOfOpen) return Unexpected{bad_reply()};
  return reply->agent;
}

Expected<void, Error> MadClient::unregister_agent(MadPortNumber port, std::uint32_t agent) {
  auto request = make_message<MadUnregisterAgent>();
  request.port = port;
  request.agent = agent;
  return without_value(client_->ask_for<Done>(request));
}

Expected<void, Error> MadClient::send(MadPortNumber port, std::uint32_t agent,
                                      const mad::Outgoing& outgoing) {
  auto request = make_message<MadSend>();
  request.port = port;
  request.agent = agent;
  request.timeout_ms = outgoing.timeout_ms;
  request.retries = outgoing.retries;
  request.to = to_record(outgoing.to);
  const auto fd = put_message(request.body, outgoing.message);
  if (fd) return without_value(client_->ask_for<Done>(request, fd->get()));
  const bool too_long = fd.error() == EMSGSIZE;
  return Unexpected{make_error(too_long ? refuse(EINVAL, ReasonId::mad_malformed, outgoing.message.size(), 0)
                                        : refuse(fd.error(), ReasonId::out_of_fds, fd.error()))};
}

// ---- the socket of a port

namespace {

int whole_message(const Datagram& datagram, MutableBytes buffer, MadReceived& out) {
  if (datagram.size == 0) return EIO;
  const auto message = parse_message<MadReceived>(buffer.first(std::min(datagram.size, buffer.size())));
  if (!message || datagram.truncated) return EBADMSG;
  out = *message;
  return 0;
}

/// What the other end reset was not sent: the port is dead.
int port_error(int error) { return error == EAGAIN || error == 0 ? error : EIO; }

}  // namespace

int peek_mad(int socket, MadReceived& out) {
  std::array<std::byte, sizeof(MadReceived)> buffer;
  ssize_t got;
  do {
    got = recv(socket, buffer.data(), buffer.size(), MSG_PEEK | MSG_DONTWAIT);
  } while (got < 0 && errno == EINTR);
  if (got < 0) return port_error(errno);
  Datagram datagram;
  datagram.size = static_cast<std::size_t>(got);
  return whole_message(datagram, buffer, out);
}

int read_mad(int socket, MadReceived& out, std::vector<std::byte>& message) {
  std::array<std::byte, sizeof(MadReceived)> buffer;
  Datagram datagram;
  if (const int error = receive_datagram(socket, buffer, datagram, MSG_DONTWAIT)) return port_error(error);
  if (const int error = whole_message(datagram, buffer, out)) return error;
  auto whole = message_in(out.body, datagram.fds[0].get());
  if (!whole) return EBADMSG;
  message = std::move(*whole);
  return 0;
}

bool MadClient::is_gone(const Error& error) { return error.failure.reason.id == ReasonId::daemon_gone; }

}  // namespace softrnic::control
