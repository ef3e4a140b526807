#include "fabricd/command_clients.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/clock.h"
#include "control/channel.h"
#include "control/fabric_commands.h"

namespace softrnic::fabricd {
namespace {

void send_refusal(int client, const std::string& sentence) {
  auto reply = control::make_message<control::ErrorReply>(1);
  reply.error = EINVAL;
  control::put_text(reply.text, sentence);
  control::send_datagram(client, control::bytes_of(reply), -1, MSG_DONTWAIT);
}

void send_text(int client, const std::string& text) {
  const auto descriptor = control::text_descriptor(text);
  if (!descriptor) return send_refusal(client, std::strerror(descriptor.error()));
  auto reply = control::make_message<control::FabricAnswer>(1);
  reply.size = text.size();
  control::send_datagram(client, control::bytes_of(reply), descriptor->get(), MSG_DONTWAIT);
}

void turn_away(const UniqueFd& client) {
  send_refusal(client.get(), "the fabric is told too much at once; try again");
}

}  // namespace

CommandClients::CommandClients(daemon::EventLoop& loop, int listener, Perform perform)
    : loop_(loop),
      perform_(std::move(perform)),
      acceptor_(
          loop, listener, [this](UniqueFd socket) { accepted(std::move(socket)); }, turn_away) {}

CommandClients::~CommandClients() {
  for (const auto& [fd, client] : clients_) loop_.forget(fd);
}

void CommandClients::accepted(UniqueFd socket) {
  const auto peer = control::peer_credentials(socket.get());
  if (!peer || peer->uid != geteuid()) return;
  if (clients_.size() >= kMost) return turn_away(socket);
  const int fd = socket.get();
  if (!loop_.watch(fd, EPOLLIN, [this, fd] { read(fd); })) return turn_away(socket);
  clients_[fd] = {std::move(socket), monotonic_now() + kPatience};
}

void CommandClients::read(int client) {
  std::array<std::byte, sizeof(control::FabricCommand)> buffer;
  control::Datagram datagram;
  const int error = control::receive_datagram(client, buffer, datagram, MSG_DONTWAIT);
  if (error == EAGAIN) return;
  const auto request = control::parse_message<control::FabricCommand>(Bytes(buffer).first(datagram.size));
  const auto line = request ? control::text_in(request->text) : std::nullopt;
  if (error == 0 && line) {
    const auto result = perform_(*line);
    if (result) {
      send_text(client, *result);
    } else {
      send_refusal(client, result.error());
    }
  }
  drop(client);
}

void CommandClients::drop(int client) {
  loop_.forget(client);
  clients_.erase(client);
}

TimePoint CommandClients::deadline() const {
  TimePoint due = acceptor_.deadline();
  for (const auto& [fd, client] : clients_) due = std::min(due, client.ends);
  return due;
}

void CommandClients::advance(TimePoint now) {
  acceptor_.advance(now);
  for (auto it = clients_.begin(); it != clients_.end();) {
    const auto [fd, ends] = std::pair(it->first, it->second.ends);
    ++it;
    if (ends <= now) drop(fd);
  }
}

}  // namespace softrnic::fabricd
