#include "daemon/server.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>

#include <algorithm>
#include <cerrno>

#include "base/clock.h"
#include "control/explain_sink.h"

namespace softrnic::daemon {
namespace {

/// How long what comes for QP1 waits for the programs that a dead daemon has left: a request for a port that
/// nobody has is refused at once, and those who listen there are about to say so.
constexpr Duration kSurvivorsReturn = std::chrono::seconds(1);
constexpr Duration kKeeperPause = std::chrono::seconds(1);  ///< between keepers, whatever kills them
/// With several users: between two looks after the steering, which any holder of a lane can detach.
constexpr Duration kSteeringPeriod = std::chrono::milliseconds(100);
}  // namespace

Server::Server(UniqueFd listener, net::Netlink netlink, LanePool lanes, DeviceList devices, Options options)
    : listener_(std::move(listener)),
      netlink_(std::move(netlink)),
      lanes_(std::move(lanes)),
      service_(lanes_, std::move(devices), options.limits),
      clients_(loop_, listener_.get(), service_, options.limits),
      options_(std::move(options)),
      gsi_(make_gsi_link(lanes_.socket_of(0), options_.faults, options_.capture.get()), page_) {
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

bool Server::is_idle() const {
  // links that the user made are not in any file: keep them
  return clients_.empty() && service_.idle.count() > 0 && !service_.device_list().edited();
}

TimePoint Server::next_deadline() const {
  const TimePoint due = std::min({reads_mads_ == kNever ? gsi_.deadline() : reads_mads_, resolver_.deadline(),
                                  service_.cm().deadline(), service_.mads().deadline(), clients_.deadline(),
                                  keeper_due_, steering_due_});
  return is_idle() ? std::min(due, clients_.idle_since() + options_.idle) : due;
}

bool Server::watch_all() {
  bool watched = clients_.begin() &&
                 loop_.watch(netlink_.changes_fd(), EPOLLIN, [this] { read_network(); }) &&
                 loop_.watch(signals_.get(), EPOLLIN, [this] { ending_ = true; }) && watch_keeper() &&
                 loop_.watch(resolver_.changes_fd(), EPOLLIN, [this] { resolver_.take_changes(); });
  if (const int streams = service_.cm().streams_fd(); streams >= 0)
    watched = watched && loop_.watch(streams, EPOLLIN, [this] { service_.cm().streams_ready(); });
  if (const int sockets = service_.mads().sockets_fd(); sockets >= 0)
    watched = watched && loop_.watch(sockets, EPOLLIN, [this] { service_.mads().sockets_ready(); });
  for (const LanePool::Inherited& inherited : lanes_.inherited())
    watched = watched && loop_.watch(inherited.holder, EPOLLIN, [this, lane = inherited.lane] {
      if (forget_inherited(lane)) lanes_.free_inherited(lane);
    });
  if (survivors_are_back()) return watched && watch_mads();
  reads_mads_ = monotonic_now() + kSurvivorsReturn;
  return watched;
}

bool Server::watch_keeper() {
  return loop_.watch(lanes_.keeper_gone_fd(), EPOLLIN, [this] { keeper_ended(); });
}

bool Server::watch_mads() {
  return loop_.watch(gsi_.readable_fd(), EPOLLIN, [this] { gsi_.receive(monotonic_now()); });
}

void Server::keeper_ended() {
  loop_.forget(lanes_.keeper_gone_fd());
  keeper_due_ = std::max(monotonic_now(), keeper_started_ + kKeeperPause);
}

// Without a keeper the lanes would be left to the programs that have them when this daemon dies too.
void Server::renew_keeper(TimePoint now) {
  if (keeper_due_ > now) return;
  keeper_due_ = kNever;
  keeper_started_ = now;
  if (lanes_.renew_keeper()) watch_keeper();
}

bool Server::survivors_are_back() const { return lanes_.inherited().empty() && !clients_.any_returning(); }

void Server::begin_to_read_mads() {
  if (reads_mads_ == kNever || (reads_mads_ > monotonic_now() && !survivors_are_back())) return;
  reads_mads_ = kNever;
  watch_mads();
}

int Server::run() {
  if (const int error = loop_.open()) return error;
  sigset_t handled;
  sigemptyset(&handled);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&handled, number);
  sigprocmask(SIG_BLOCK, &handled, nullptr);
  signals_.reset(signalfd(-1, &handled, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals_) return errno;
  read_network();
  if (!watch_all()) return errno;
  while (!ending_) {
    if (const int error = loop_.wait(next_deadline())) return error;
    catch_up();
    if (is_idle() && monotonic_now() >= clients_.idle_since() + options_.idle) break;
  }
  clients_.take_leave();
  return 0;
}

void Server::catch_up() {
  const TimePoint now = monotonic_now();
  clients_.advance(now);
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

bool Server::forget_inherited(std::uint32_t lane) {
  for (const LanePool::Inherited& inherited : lanes_.inherited()) {
    if (inherited.lane != lane) continue;
    loop_.forget(inherited.holder);
    return true;
  }
  return false;
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
  clients_.announce(change);
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
