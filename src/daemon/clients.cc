#include "daemon/clients.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>

#include "base/clock.h"
#include "base/reason_id.h"
#include "control/channel.h"
#include "control/error.h"

namespace softrnic::daemon {
namespace {

std::uint64_t real_time_ns() {
  return static_cast<std::uint64_t>(
      std::chrono::nanoseconds(
          std::chrono::system_clock::now().time_since_epoch())  // NOLINT(no-wall-clock): shown to people
          .count());
}

}  // namespace

Clients::Clients(EventLoop& loop, int listener, Service& service, std::optional<UserLimits> limits)
    : loop_(loop),
      acceptor_(
          loop, listener, [this](UniqueFd socket) { accepted(std::move(socket)); },
          [this](const UniqueFd& socket) { turn_away(socket, no_room()); }),
      service_(service),
      limits_(limits),
      idle_since_(monotonic_now()) {}

void Clients::accepted(UniqueFd socket) {
  auto client = std::make_unique<Connection>();
  client->socket = std::move(socket);
  const auto peer = control::peer_credentials(client->socket.get());
  if (!peer || (!limits_ && peer->uid != geteuid())) return;  // the client sees whose daemon this is
  if (auto may = check_room(peer->uid); !may) return turn_away(client->socket, may.error());
  client->pid = peer->pid;
  client->pidfd = peer_process(client->socket.get(), peer->pid);
  client->credentials = Credentials::of(peer->uid, peer->pid, client->pidfd);
  const std::uint32_t id = next_id_++;
  if (!loop_.watch(client->socket.get(), EPOLLIN, [this, id] { read(id); }))
    return turn_away(client->socket, no_room());
  if (client->pidfd) loop_.watch(client->pidfd.get(), EPOLLIN, [this, id] { drop(id); });
  clients_.emplace(id, std::move(client));
}

Failure Clients::no_room() const { return refuse(EMFILE, ReasonId::daemon_busy, clients_.size()); }

Expected<void, Failure> Clients::check_room(uid_t user) const {
  if (clients_.size() >= kMost) return Unexpected{no_room()};
  if (!limits_) return {};
  const auto is_his = [user](const auto& client) { return client.second->credentials.user() == user; };
  const auto has = static_cast<std::size_t>(std::count_if(clients_.begin(), clients_.end(), is_his));
  return check_limit(user, has, limits_->connections, UserQuota::connections);
}

void Clients::turn_away(const UniqueFd& socket, const Failure& failure) {
  auto refusal = control::make_message<control::ErrorReply>(1);
  control::put_failure(refusal, failure);
  control::send_datagram(socket.get(), control::bytes_of(refusal), -1, MSG_DONTWAIT);
}

void Clients::read(std::uint32_t id) {
  const auto it = clients_.find(id);
  if (it == clients_.end()) return;
  static std::array<std::byte, control::kMaxMessage> buffer;  // the daemon has one thread
  control::Datagram datagram;
  const int error = control::receive_datagram(it->second->socket.get(), buffer, datagram, MSG_DONTWAIT);
  if (error == EAGAIN) return;
  if (error != 0 || datagram.size == 0) return drop(id);
  const std::size_t size = datagram.truncated || datagram.lost_descriptors ? 0 : datagram.size;
  answer(id, service_.handle(*it->second, std::span(buffer).first(size), std::move(datagram.fds[0])));
}

void Clients::answer(std::uint32_t id, Answer reply) {
  const Connection& client = *clients_.at(id);
  const int error = control::send_datagram(client.socket.get(), reply.bytes, reply.fd, MSG_DONTWAIT);
  // a client has one request under way, so its socket has room for the answer
  if (error != 0 || reply.drop) drop(id);
}

void Clients::drop(std::uint32_t id) {
  const auto it = clients_.find(id);
  if (it == clients_.end()) return;
  Connection& client = *it->second;
  for (const UniqueFd* fd : {&client.socket, &client.notify, &client.pidfd})
    if (*fd) loop_.forget(fd->get());
  service_.release(client, real_time_ns());
  clients_.erase(it);
  if (clients_.empty()) idle_since_ = monotonic_now();
}

bool Clients::any_returning() const {
  return std::any_of(clients_.begin(), clients_.end(),
                     [](const auto& client) { return client.second->returning; });
}

void Clients::take_leave() {
  const auto farewell = control::make_message<control::Farewell>();
  for (const auto& [id, client] : clients_)
    if (client->greeted)
      control::send_datagram(client->notify.get(), control::bytes_of(farewell), -1, MSG_DONTWAIT);
}

void Clients::announce(const DeviceChange& change) {
  for (auto& [id, client] : clients_) {
    if (!client->greeted) continue;
    client->queue(change);
    flush(id, *client);
  }
}

void Clients::flush(std::uint32_t id, Connection& client) {
  const int notify = client.notify.get();
  if (client.flush()) return loop_.forget(notify);
  loop_.watch(notify, EPOLLOUT, [this, id] {
    if (const auto it = clients_.find(id); it != clients_.end()) flush(id, *it->second);
  });
}

}  // namespace softrnic::daemon
