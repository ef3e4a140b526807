#include "daemon/server.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>

#include "base/clock.h"
#include "control/channel.h"
#include "control/error.h"
#include "control/explain_sink.h"

namespace softrnic::daemon {
namespace {

constexpr std::uint32_t kInheritedLane = 1U << 31;  ///< marks the id of a process whose lane was taken over

/// How long what comes for QP1 waits for the programs that a dead daemon has left: a request for a port that
/// nobody has is refused at once, and those who listen there are about to say so.
constexpr Duration kSurvivorsReturn = std::chrono::seconds(1);
constexpr Duration kKeeperPause = std::chrono::seconds(1);  ///< between keepers, whatever kills them
/// With several users: between two looks after the steering, which any holder of a lane can detach.
constexpr Duration kSteeringPeriod = std::chrono::milliseconds(100);
constexpr Duration kPause = std::chrono::milliseconds(100);  ///< before a client is accepted after a failure

/// To be given up when a client is to be told that there is no descriptor for it.
UniqueFd spare_descriptor() { return UniqueFd(open("/dev/null", O_RDONLY | O_CLOEXEC)); }

std::uint64_t real_time_ns() {
  return static_cast<std::uint64_t>(
      std::chrono::nanoseconds(
          std::chrono::system_clock::now().time_since_epoch())  // NOLINT(no-wall-clock): shown to people
          .count());
}

}  // namespace

Server::Server(UniqueFd listener, net::Netlink netlink, LanePool lanes, DeviceList devices, Options options)
    : listener_(std::move(listener)),
      spare_(spare_descriptor()),
      netlink_(std::move(netlink)),
      lanes_(std::move(lanes)),
      service_(lanes_, std::move(devices), options.limits),
      options_(std::move(options)),
      gsi_(make_gsi_link(lanes_.socket_of(0), options_.faults, options_.capture.get()), page_),
      idle_since_(monotonic_now()) {
  control::install_explain_sink(&page_, options_.prints);
  service_.show_own_page(UniqueFd(fcntl(page_.fd(), F_DUPFD_CLOEXEC, 0)));
  service_.look_at_network = [this] { return look_at_network(); };
  service_.announce = [this](const DeviceChange& change) { announce(change); };
  service_.end = [this] { ending_ = true; };
  service_.forget_inherited = [this](std::uint32_t lane) { forget_inherited(lane); };
  service_.clients = [this] { return clients_.size(); };
  service_.idle = options_.idle;
  serve_management();
}

void Server::serve_management() {
  CmService& cm = service_.cm();
  cm.send_mad = service_.mad_ports().send_mad = [this](const mad::Address& to, Bytes mad) {
    gsi_.send(to, mad, monotonic_now());
  };
  gsi_.set_handler([this](const mad::Address& from, Bytes mad) { service_.receive_mad(from, mad); });
  cm.find_route = [this](cma::IdNumber id, const cma::RouteQuery& query) { find_route(id, query); };
  cm.forget_route = [this](cma::IdNumber id) { forget_route(id); };
}

void Server::find_route(cma::IdNumber id, const cma::RouteQuery& query) {
  forget_route(id);
  const ResolveRequest request{query.destination, query.source, query.interface_index, query.deadline};
  routes_[id] = resolver_.start(request, [this, id](const ResolveResult& result) {
    routes_.erase(id);
    if (result) {
      service_.cm().route_found(id, cma::Route{result->source, result->interface_index, result->hop_limit});
    } else {
      service_.cm().route_found(id, Unexpected{result.error()});
    }
  });
}

void Server::forget_route(cma::IdNumber id) {
  const auto it = routes_.find(id);
  if (it == routes_.end()) return;
  resolver_.cancel(it->second);
  routes_.erase(it);
}

Server::~Server() { control::install_explain_sink(nullptr, false); }

bool Server::watch(int fd, Source source, std::uint32_t id, std::uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = (static_cast<std::uint64_t>(source) << 32) | id;
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0) return true;
  return errno == EEXIST && epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event) == 0;
}

void Server::forget(int fd) { epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr); }

bool Server::is_idle() const {
  // links that the user made are not in any file: keep them
  return clients_.empty() && service_.idle.count() > 0 && !service_.device_list().edited();
}

TimePoint Server::next_deadline() const {
  const TimePoint due = std::min({reads_mads_ == kNever ? gsi_.deadline() : reads_mads_, resolver_.deadline(),
                                  service_.cm().deadline(), service_.mads().deadline(), listens_again_,
                                  keeper_due_, steering_due_});
  return is_idle() ? std::min(due, idle_since_ + options_.idle) : due;
}

int Server::timeout() const {
  const TimePoint due = next_deadline();
  if (due == kNever) return -1;
  const TimePoint now = monotonic_now();
  if (due <= now) return 0;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(due - now).count();
  return static_cast<int>(std::min<std::int64_t>(left, INT_MAX));
}

bool Server::watch_all() {
  bool watched = watch(listener_.get(), Source::listener, 0, EPOLLIN) &&
                 watch(netlink_.changes_fd(), Source::network, 0, EPOLLIN) &&
                 watch(signals_.get(), Source::signals, 0, EPOLLIN) &&
                 watch(lanes_.keeper_gone_fd(), Source::keeper, 0, EPOLLIN) &&
                 watch(resolver_.changes_fd(), Source::neighbours, 0, EPOLLIN);
  if (const int streams = service_.cm().streams_fd(); streams >= 0)
    watched = watched && watch(streams, Source::streams, 0, EPOLLIN);
  if (const int sockets = service_.mads().sockets_fd(); sockets >= 0)
    watched = watched && watch(sockets, Source::mad_sockets, 0, EPOLLIN);
  for (const LanePool::Inherited& lane : lanes_.inherited())
    watched = watched && watch(lane.holder, Source::process, lane.lane | kInheritedLane, EPOLLIN);
  if (survivors_are_back()) return watched && watch(gsi_.readable_fd(), Source::lane, 0, EPOLLIN);
  reads_mads_ = monotonic_now() + kSurvivorsReturn;
  return watched;
}

void Server::keeper_ended() {
  forget(lanes_.keeper_gone_fd());
  keeper_due_ = std::max(monotonic_now(), keeper_started_ + kKeeperPause);
}

// Without a keeper the lanes would be left to the programs that have them when this daemon dies too.
void Server::renew_keeper(TimePoint now) {
  if (keeper_due_ > now) return;
  keeper_due_ = kNever;
  keeper_started_ = now;
  if (lanes_.renew_keeper()) watch(lanes_.keeper_gone_fd(), Source::keeper, 0, EPOLLIN);
}

bool Server::survivors_are_back() const {
  const auto returns = [](const auto& client) { return client.second->returning; };
  return lanes_.inherited().empty() && std::none_of(clients_.begin(), clients_.end(), returns);
}

void Server::begin_to_read_mads() {
  if (reads_mads_ == kNever || (reads_mads_ > monotonic_now() && !survivors_are_back())) return;
  reads_mads_ = kNever;
  watch(gsi_.readable_fd(), Source::lane, 0, EPOLLIN);
}

int Server::run() {
  epoll_.reset(epoll_create1(EPOLL_CLOEXEC));
  sigset_t handled;
  sigemptyset(&handled);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&handled, number);
  sigprocmask(SIG_BLOCK, &handled, nullptr);
  signals_.reset(signalfd(-1, &handled, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!epoll_ || !signals_) return errno;
  read_network();
  if (!watch_all()) return errno;
  while (!ending_) {
    std::array<epoll_event, 64> events;
    const int count = epoll_wait(epoll_.get(), events.data(), events.size(), timeout());
    if (count < 0 && errno != EINTR) return errno;
    for (int i = 0; i < count; ++i) dispatch(events[i].data.u64, events[i].events);
    catch_up();
    if (is_idle() && monotonic_now() >= idle_since_ + options_.idle) break;
  }
  take_leave();
  return 0;
}

void Server::catch_up() {
  const TimePoint now = monotonic_now();
  if (listens_again_ <= now) listen_again();
  resolver_.advance(now);
  if (service_.cm().deadline() <= now) service_.cm().advance();
  if (service_.mads().deadline() <= now) service_.mads().advance();
  renew_keeper(now);
  renew_steering(now);
  begin_to_read_mads();
  if (gsi_.deadline() <= now && reads_mads_ == kNever) {
    gsi_.receive(now);
  } else {
    gsi_.flush(now);
  }
}

void Server::dispatch(std::uint64_t key, std::uint32_t) {
  const auto id = static_cast<std::uint32_t>(key);
  switch (static_cast<Source>(key >> 32)) {
    case Source::listener:
      return accept_client();
    case Source::network:
      return read_network();
    case Source::signals:
      ending_ = true;
      return;
    case Source::lane:
      return gsi_.receive(monotonic_now());
    case Source::neighbours:
      return resolver_.take_changes();
    case Source::streams:
      return service_.cm().streams_ready();
    case Source::mad_sockets:
      return service_.mads().sockets_ready();
    case Source::keeper:
      return keeper_ended();
    case Source::connection:
      return read_client(id);
    case Source::process:
      return process_ended(id);
    case Source::notify:
      if (const auto it = clients_.find(id); it != clients_.end()) flush(id, *it->second);
      return;
  }
}

void Server::accept_client() {
  auto client = std::make_unique<Connection>();
  client->socket.reset(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!client->socket) return accept_failed(errno);
  const auto peer = control::peer_credentials(client->socket.get());
  if (!peer || (!options_.limits && peer->uid != geteuid())) return;  // the client sees whose daemon this is
  if (auto may = check_room(peer->uid); !may) return turn_away(client->socket, may.error());
  client->pid = peer->pid;
  client->pidfd = peer_process(client->socket.get(), peer->pid);
  client->credentials = Credentials::of(peer->uid, peer->pid, client->pidfd);
  const std::uint32_t id = next_id_++ & ~kInheritedLane;
  if (!watch(client->socket.get(), Source::connection, id, EPOLLIN))
    return turn_away(client->socket, no_room());
  if (client->pidfd) watch(client->pidfd.get(), Source::process, id, EPOLLIN);
  clients_.emplace(id, std::move(client));
}

Failure Server::no_room() const { return refuse(EMFILE, ReasonId::daemon_busy, clients_.size()); }

Expected<void, Failure> Server::check_room(uid_t user) const {
  if (clients_.size() >= kMostConnections) return Unexpected{no_room()};
  if (!options_.limits) return {};
  const auto is_his = [user](const auto& client) { return client.second->credentials.user() == user; };
  const auto has = static_cast<std::size_t>(std::count_if(clients_.begin(), clients_.end(), is_his));
  return check_limit(user, has, options_.limits->connections, UserQuota::connections);
}

void Server::turn_away(const UniqueFd& socket, const Failure& failure) {
  auto refusal = control::make_message<control::ErrorReply>(1);
  control::put_failure(refusal, failure);
  control::send_datagram(socket.get(), control::bytes_of(refusal), -1, MSG_DONTWAIT);
}

// Nobody steals from himself.
void Server::renew_steering(TimePoint now) {
  if (!lanes_.is_shared()) {
    steering_due_ = kNever;
  } else if (steering_due_ == kNever) {
    steering_due_ = now + kSteeringPeriod;
  } else if (steering_due_ <= now) {
    steering_due_ = now + kSteeringPeriod;
    static_cast<void>(lanes_.steer());
  }
}

// Who was not accepted stays in the queue, and the listener readable: without an answer this
// would go round and round.
void Server::accept_failed(int error) {
  if (error == EAGAIN || error == EINTR || error == ECONNABORTED) return;
  if (error == EMFILE && spare_) {
    spare_.reset();
    const UniqueFd socket(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket) turn_away(socket, no_room());
  } else {
    forget(listener_.get());
    listens_again_ = monotonic_now() + kPause;
  }
  if (!spare_) spare_ = spare_descriptor();
}

void Server::listen_again() {
  if (watch(listener_.get(), Source::listener, 0, EPOLLIN)) listens_again_ = kNever;
}

void Server::read_client(std::uint32_t id) {
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

void Server::answer(std::uint32_t id, Answer reply) {
  const Connection& client = *clients_.at(id);
  const int error = control::send_datagram(client.socket.get(), reply.bytes, reply.fd, MSG_DONTWAIT);
  // a client has one request under way, so its socket has room for the answer
  if (error != 0 || reply.drop) drop(id);
}

void Server::drop(std::uint32_t id) {
  const auto it = clients_.find(id);
  if (it == clients_.end()) return;
  Connection& client = *it->second;
  // explicitly, as a descriptor that was passed on is not removed from epoll by close()
  for (const UniqueFd* fd : {&client.socket, &client.notify, &client.pidfd})
    if (*fd) forget(fd->get());
  service_.release(client, real_time_ns());
  clients_.erase(it);
  if (clients_.empty()) idle_since_ = monotonic_now();
}

void Server::process_ended(std::uint32_t id) {
  if ((id & kInheritedLane) == 0) return drop(id);
  const std::uint32_t lane = id & ~kInheritedLane;
  if (forget_inherited(lane)) lanes_.free_inherited(lane);
}

bool Server::forget_inherited(std::uint32_t lane) {
  for (const LanePool::Inherited& inherited : lanes_.inherited()) {
    if (inherited.lane != lane) continue;
    forget(inherited.holder);
    return true;
  }
  return false;
}

// Whoever is told to end says so, or clients would take it for dead and start the next one.
void Server::take_leave() {
  const auto farewell = control::make_message<control::Farewell>();
  for (const auto& [id, client] : clients_)
    if (client->greeted)
      control::send_datagram(client->notify.get(), control::bytes_of(farewell), -1, MSG_DONTWAIT);
}

void Server::announce(const DeviceChange& change) {
  std::vector<device::GidEntry> gids;
  for (const device::DeviceInfo& device : service_.device_list().devices()) {
    if (device::has_streams(device.kind)) continue;  // has no QP1
    for (const device::GidEntry& entry : device.port.gids)
      if (!entry.gid.is_zero()) gids.push_back(entry);
  }
  gsi_.set_addresses(std::move(gids));
  service_.devices_changed();
  for (auto& [id, client] : clients_) {
    if (!client->greeted) continue;
    client->queue(change);
    flush(id, *client);
  }
}

void Server::flush(std::uint32_t id, Connection& client) {
  if (client.flush()) {
    forget(client.notify.get());
  } else {
    watch(client.notify.get(), Source::notify, id, EPOLLOUT);
  }
}

net::NetSnapshot Server::look_at_network() {
  auto snapshot = netlink_.snapshot(service_.may_rebind());
  if (snapshot) last_snapshot_ = std::move(*snapshot);
  resolver_.set_addresses(last_snapshot_.addresses);
  return last_snapshot_;
}

void Server::read_network() {
  netlink_.consume_changes();
  const net::NetSnapshot snapshot = look_at_network();
  for (const DeviceChange& change : service_.device_list().update(snapshot, service_.may_rebind()))
    announce(change);
}

}  // namespace softrnic::daemon
