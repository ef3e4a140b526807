// How connections come about: addresses, routes, the exchange of rdma_cm.
#include <netdb.h>
#include <poll.h>

#include <algorithm>

#include "copy/connection.h"

namespace softrnic::copy {
namespace {

struct FreeAddresses {
  void operator()(addrinfo* list) const { freeaddrinfo(list); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

Result<Addresses> look_up(const std::string& host, std::uint16_t port, int flags) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  addrinfo* found = nullptr;
  const std::string service = std::to_string(port);
  const int error = getaddrinfo(host.empty() ? nullptr : host.c_str(), service.c_str(), &hints, &found);
  if (error != 0) return fail(Trouble::unreachable, host + ": " + gai_strerror(error));
  return Addresses(found);
}

rdma_conn_param parameters() {
  rdma_conn_param out{};
  out.initiator_depth = out.responder_resources = 1;
  out.retry_count = 7;
  out.rnr_retry_count = 7;
  return out;
}

int left(Deadline deadline) {
  const auto time = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(time, 0, 60'000));
}

}  // namespace

Result<EventPtr> Connection::next_event(Deadline deadline) {
  for (;;) {
    std::array<pollfd, 2> waiting{{{events_->fd, POLLIN, 0}, {stop_fd_, POLLIN, 0}}};
    const int ready = ::poll(waiting.data(), waiting.size(), left(deadline));
    if (ready < 0 && errno == EINTR) continue;
    if (ready < 0) return fail_errno("poll");
    if (ready == 0) return fail(Trouble::unreachable, "no answer", ETIMEDOUT);
    if (waiting[1].revents != 0) return fail(Trouble::interrupted, "interrupted");
    rdma_cm_event* event = nullptr;
    if (rdma_get_cm_event(events_.get(), &event) != 0) return fail_errno("rdma_get_cm_event");
    return EventPtr(event);
  }
}

Result<void> Connection::expect(rdma_cm_event_type type, Deadline deadline, const std::string& what) {
  const auto event = next_event(deadline);
  if (!event) return fail(event.error().trouble, what + ": " + event.error().text, event.error().code);
  if ((*event)->event == type) return {};
  std::string text = what + ": ";
  switch ((*event)->event) {
    case RDMA_CM_EVENT_ADDR_ERROR:
      text += "no RDMA device leads there (softrnic dev shows what there is)";
      break;
    case RDMA_CM_EVENT_ROUTE_ERROR:
      text += "no route";
      break;
    case RDMA_CM_EVENT_REJECTED:
      text += "connection refused: is `softrnic serve` running there?";
      break;
    case RDMA_CM_EVENT_UNREACHABLE:
      text += "no answer from the host";
      break;
    default:
      text += rdma_event_str((*event)->event);
  }
  return fail(Trouble::unreachable, text, -(*event)->status);
}

Result<void> Connection::resolve(const std::string& host, std::uint16_t port, Deadline deadline) {
  const auto found = look_up(host, port, 0);
  if (!found) return Unexpected{found.error()};
  Result<void> last = fail(Trouble::unreachable, host + ": no address");
  for (const addrinfo* one = found->get(); one != nullptr; one = one->ai_next) {
    rdma_cm_id* id = nullptr;
    if (rdma_create_id(events_.get(), &id, nullptr, RDMA_PS_TCP) != 0)
      return fail_errno("rdma_create_id", errno, Trouble::unreachable);
    id_.reset(id);
    if (rdma_resolve_addr(id, nullptr, one->ai_addr, left(deadline)) != 0) {
      last = fail_errno(host, errno, Trouble::unreachable);
      continue;
    }
    last = expect(RDMA_CM_EVENT_ADDR_RESOLVED, deadline, host);
    if (last || last.error().trouble == Trouble::interrupted) return last;
  }
  return last;
}

Result<ConnectionPtr> Connection::dial(const std::string& host, std::uint16_t port, int stop_fd,
                                       Deadline deadline) {
  ConnectionPtr made(new Connection(stop_fd));
  made->events_.reset(rdma_create_event_channel());
  if (made->events_ == nullptr) return fail_errno("rdma_create_event_channel", errno, Trouble::unreachable);
  Result<void> done = made->resolve(host, port, deadline);
  if (done && rdma_resolve_route(made->id_.get(), left(deadline)) != 0)
    done = fail_errno(host, errno, Trouble::unreachable);
  if (done) done = made->expect(RDMA_CM_EVENT_ROUTE_RESOLVED, deadline, host);
  if (done) done = made->prepare();
  rdma_conn_param param = parameters();
  if (done && rdma_connect(made->id_.get(), &param) != 0)
    done = fail_errno(host, errno, Trouble::unreachable);
  if (done) done = made->expect(RDMA_CM_EVENT_ESTABLISHED, deadline, host);
  if (!done) return Unexpected{done.error()};
  return made;
}

Result<ConnectionPtr> Connection::accept(EventChannelPtr events, IdPtr id, int stop_fd, Deadline deadline) {
  ConnectionPtr made(new Connection(stop_fd));
  made->events_ = std::move(events);
  made->id_ = std::move(id);
  Result<void> done = made->prepare();
  rdma_conn_param param = parameters();
  if (done && rdma_accept(made->id_.get(), &param) != 0) done = fail_errno("rdma_accept");
  if (done) done = made->expect(RDMA_CM_EVENT_ESTABLISHED, deadline, "a client");
  if (!done) return Unexpected{done.error()};
  return made;
}

std::string Connection::peer_name() const {
  sockaddr* address = rdma_get_peer_addr(id_.get());
  const socklen_t size = address->sa_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
  std::array<char, NI_MAXHOST> host{};
  if (getnameinfo(address, size, host.data(), host.size(), nullptr, 0, NI_NUMERICHOST) != 0) return "?";
  return host.data();
}

bool Connection::is_within_host() const {
  const sockaddr* here = rdma_get_local_addr(id_.get());
  const sockaddr* there = rdma_get_peer_addr(id_.get());
  if (here->sa_family != there->sa_family) return false;
  if (here->sa_family == AF_INET6)
    return std::memcmp(&reinterpret_cast<const sockaddr_in6*>(here)->sin6_addr,
                       &reinterpret_cast<const sockaddr_in6*>(there)->sin6_addr, sizeof(in6_addr)) == 0;
  return reinterpret_cast<const sockaddr_in*>(here)->sin_addr.s_addr ==
         reinterpret_cast<const sockaddr_in*>(there)->sin_addr.s_addr;
}

Result<Listener> Listener::open(const std::string& address, std::uint16_t port) {
  const auto found = look_up(address, port, AI_PASSIVE);
  if (!found) return Unexpected{found.error()};
  Listener out;
  out.events_.reset(rdma_create_event_channel());
  if (out.events_ == nullptr) return fail_errno("rdma_create_event_channel");
  // Without an address, "::" takes IPv4 as well.
  const addrinfo* chosen = found->get();
  for (const addrinfo* one = chosen; address.empty() && one != nullptr; one = one->ai_next)
    if (one->ai_family == AF_INET6) chosen = one;
  rdma_cm_id* id = nullptr;
  if (rdma_create_id(out.events_.get(), &id, nullptr, RDMA_PS_TCP) != 0) return fail_errno("rdma_create_id");
  out.id_.reset(id);
  if (rdma_bind_addr(id, chosen->ai_addr) != 0)
    return fail_errno("port " + std::to_string(port), errno, Trouble::unreachable);
  if (rdma_listen(id, 16) != 0) return fail_errno("rdma_listen");
  return out;
}

std::uint16_t Listener::port() const { return be16toh(rdma_get_src_port(id_.get())); }

Result<std::optional<Listener::Request>> Listener::next() {
  rdma_cm_event* raw = nullptr;
  if (rdma_get_cm_event(events_.get(), &raw) != 0) return fail_errno("rdma_get_cm_event");
  EventPtr event(raw);
  if (event->event == RDMA_CM_EVENT_DEVICE_REMOVAL) return fail(Trouble::broken, "the RDMA device is gone");
  if (event->event != RDMA_CM_EVENT_CONNECT_REQUEST) return std::optional<Request>{};
  rdma_cm_id* const id = raw->id;
  event.reset();  // an id is destroyed, or moved, when its events have been acknowledged
  Request request{EventChannelPtr(rdma_create_event_channel()), IdPtr(id)};
  if (request.events == nullptr || rdma_migrate_id(request.id.get(), request.events.get()) != 0)
    return fail_errno("rdma_migrate_id");
  return std::optional<Request>(std::move(request));
}

}  // namespace softrnic::copy
