// The life of a stream rsocket: names, listening, connecting, ending.
#include "rsocket/stream_socket.h"

#include <fcntl.h>

#include <algorithm>
#include <utility>

#include "base/reason_id.h"
#include "rsocket/gid_addresses.h"
#include "rsocket/inet_address.h"

namespace softrnic::rsocket {
namespace {

constexpr int kMostRetries = 6;
constexpr int kFirstTimeoutMs = 1000;  // twice as much at each retry

/// Whether the id has GIDs for addresses: then what leads the private data of a request is the programs'.
bool by_gid(const rdma_cm_id& id) { return id.route.addr.src_addr.sa_family == AF_IB; }

std::vector<std::byte> request_data(rdma_cm_id& id, const Offer& offer) {
  std::vector<std::byte> data;
  if (by_gid(id)) {
    const auto header =
        connect_header(InetAddress::of(*rdma_get_local_addr(&id)), InetAddress::of(*rdma_get_peer_addr(&id)));
    data.assign(header.begin(), header.end());
  }
  const auto offered = encode(offer);
  data.insert(data.end(), offered.begin(), offered.end());
  return data;
}

/// What the peer offers in a request, or nothing.
std::optional<Offer> offer_in(const rdma_cm_id& id, const rdma_conn_param& request) {
  const Bytes data{static_cast<const std::byte*>(request.private_data), request.private_data_len};
  return decode_offer(by_gid(id) ? data.subspan(std::min(data.size(), kConnectHeaderSize)) : data);
}

}  // namespace

StreamSocket::StreamSocket(ChannelPtr channel, IdPtr id, const Sizes& sizes)
    : channel_(std::move(channel)), id_(std::move(id)), options_(sizes) {}

// Who says that the connection ends must not take the last words with it: close() has waited for them.
StreamSocket::~StreamSocket() {
  if (endpoint_.made() && id_ != nullptr) rdma_disconnect(id_.get());
}

Result<std::shared_ptr<StreamSocket>> StreamSocket::make(int family, int flags) {
  auto channel = make_channel();
  if (!channel) return fail(channel.error());
  rdma_cm_id* id = nullptr;
  if (rdma_create_id(channel->get(), &id, nullptr, RDMA_PS_TCP) != 0) return fail_errno();
  std::shared_ptr<StreamSocket> socket(new StreamSocket(std::move(*channel), IdPtr(id), defaults().sizes));
  socket->options_.set_flags(flags);
  id->route.addr.src_addr.sa_family = static_cast<sa_family_t>(family);
  return socket;
}

Result<void> StreamSocket::bind(const sockaddr* address, socklen_t length) {
  if (auto known = known_address(address, length, Addresses::ip_or_gid); !known) return known;
  const Lock lock(mutex_);
  if (stage_ != Stage::fresh) return fail(EINVAL);
  sockaddr_storage copy{};
  std::memcpy(&copy, address, size_of(*address));
  if (rdma_bind_addr(id_.get(), reinterpret_cast<sockaddr*>(&copy)) != 0) return fail_errno();
  stage_ = Stage::bound;
  return {};
}

Result<void> StreamSocket::listen(int backlog) {
  const Lock lock(mutex_);
  if (stage_ == Stage::listening) return {};
  if (stage_ != Stage::fresh && stage_ != Stage::bound) return fail(EINVAL);
  if (rdma_listen(id_.get(), backlog) != 0) return fail_errno();
  stage_ = Stage::listening;
  return {};
}

Result<SocketPtr> StreamSocket::accept() {
  Lock lock(mutex_);
  for (;;) {
    if (stage_ != Stage::listening || closed_) return fail(EINVAL);
    const bool early = accepted_.has_value();
    take_requests();
    if (accepted_) return give(*std::exchange(accepted_, std::nullopt), early);
    if (nonblocking(0)) return fail(EAGAIN);
    if (auto woken = wait_once(lock); !woken) return fail(woken.error());
  }
}

// A program is given a descriptor that is made in raccept. librspreload has reserved a number of its own by
// then, and its select() takes the lower of the two for that number.
Result<SocketPtr> StreamSocket::give(Result<std::shared_ptr<StreamSocket>> accepted, bool early) {
  if (!accepted) return fail(accepted.error());
  if (early)
    if (auto moved = (*accepted)->change_channel(); !moved) return fail(moved.error());
  return SocketPtr(std::move(*accepted));
}

Result<void> StreamSocket::change_channel() {
  const Lock lock(mutex_);
  auto channel = make_channel();
  if (!channel) return fail(channel.error());
  if (rdma_migrate_id(id_.get(), channel->get()) != 0) return fail_errno();
  channel_ = std::move(*channel);
  return {};
}

// Until one is answered, or the program has to hear why none can be.
void StreamSocket::take_requests() {
  if (accepted_) return;
  do {
    rdma_cm_event* taken = nullptr;
    if (rdma_get_cm_event(channel_.get(), &taken) != 0) {
      if (errno != EAGAIN) accepted_.emplace(fail_errno());
      return;
    }
    EventPtr event(taken);
    if (event->event != RDMA_CM_EVENT_CONNECT_REQUEST) continue;
    auto made = take_request(std::move(event));
    if (made || made.error() == EMFILE || made.error() == ENFILE || made.error() == ENOMEM)
      accepted_.emplace(std::move(made));
  } while (!accepted_);
  sleepers_.wake_all();  // to whom the channel has become silent
}

Result<std::shared_ptr<StreamSocket>> StreamSocket::take_request(EventPtr event) {
  IdPtr id(event->id);
  rdma_conn_param request = event->param.conn;
  const auto* first = static_cast<const std::byte*>(request.private_data);
  const std::vector<std::byte> data(first, first + (first != nullptr ? request.private_data_len : 0));
  request.private_data = data.data();
  event.reset();  // before its id can move, or go
  auto channel = make_channel();
  Result<void> answered = channel ? Result<void>() : fail(channel.error());
  if (answered && rdma_migrate_id(id.get(), channel->get()) != 0) answered = fail_errno();
  if (!answered) {
    rdma_reject(id.get(), nullptr, 0);
    return fail(answered.error());
  }
  std::shared_ptr<StreamSocket> made(new StreamSocket(std::move(*channel), std::move(id), options_.sizes()));
  made->options_.inherit_flags(options_);
  answered = made->answer(request);
  if (answered) return made;
  rdma_reject(made->id_.get(), nullptr, 0);
  return fail(answered.error());
}

Result<void> StreamSocket::answer(const rdma_conn_param& request) {
  const auto peer = offer_in(*id_, request);
  if (!peer) return refused(EPROTO, ReasonId::rsocket_offer, request.private_data_len);
  if (auto made = make_endpoint(); !made) return made;
  rdma_conn_param parameters = request;
  const auto data = encode(endpoint_.offer());
  parameters.private_data = data.data();
  parameters.private_data_len = kOfferSize;
  meet(*peer);
  stage_ = Stage::accepting;
  if (rdma_accept(id_.get(), &parameters) != 0) return fail_errno();
  return {};
}

Result<void> StreamSocket::connect(const sockaddr* address, socklen_t length) {
  if (auto known = known_address(address, length, Addresses::ip_or_gid); !known) return known;
  Lock lock(mutex_);
  if (stage_ == Stage::fresh || stage_ == Stage::bound) {
    std::memcpy(&destination_, address, size_of(*address));
    retries_ = 0;
    if (auto started = resolve_address(); !started) {
      fail_with(started.error());
      error_ = 0;  // told here
      return started;
    }
  } else if (stage_ == Stage::listening) {
    return fail(EINVAL);
  }
  auto done = wait(lock, nonblocking(0), &StreamSocket::not_opening);
  if (!done) return fail(done.error() == EAGAIN ? EINPROGRESS : done.error());
  if (stage_ == Stage::connected) return {};
  return fail(error_ != 0 ? std::exchange(error_, 0) : ENOTCONN);
}

Result<void> StreamSocket::resolve_address() {
  stage_ = Stage::resolving_address;
  const int timeout = kFirstTimeoutMs << retries_++;
  if (rdma_resolve_addr(id_.get(), nullptr, reinterpret_cast<sockaddr*>(&destination_), timeout) != 0)
    return fail_errno();
  return {};
}

Result<void> StreamSocket::resolve_route() {
  stage_ = Stage::resolving_route;
  const int timeout = kFirstTimeoutMs << retries_++;
  std::vector<std::byte> route = options_.route();  // rdma_set_option takes no constant
  const int failed = route.empty() ? rdma_resolve_route(id_.get(), timeout)
                                   : rdma_set_option(id_.get(), RDMA_OPTION_IB, RDMA_OPTION_IB_PATH,
                                                     route.data(), route.size());
  return failed == 0 ? Result<void>() : fail_errno();
}

Result<void> StreamSocket::start_connect() {
  stage_ = Stage::connecting;
  if (auto made = make_endpoint(); !made) return made;
  const auto data = request_data(*id_, endpoint_.offer());
  rdma_conn_param parameters{};
  parameters.private_data = data.data();
  parameters.private_data_len = static_cast<std::uint8_t>(data.size());
  parameters.flow_control = 1;
  parameters.retry_count = 7;
  parameters.rnr_retry_count = 7;
  if (rdma_connect(id_.get(), &parameters) != 0) return fail_errno();
  return {};
}

void StreamSocket::finish_connect(const rdma_conn_param& parameters) {
  const auto peer =
      decode_offer({static_cast<const std::byte*>(parameters.private_data), parameters.private_data_len});
  if (!peer) return fail_with(refused(EPROTO, ReasonId::rsocket_offer, parameters.private_data_len).error);
  meet(*peer);
  stage_ = Stage::connected;
}

Result<void> StreamSocket::make_endpoint() {
  Sizes sizes = options_.sizes();
  if (auto made = endpoint_.make(id_.get(), sizes); !made) return made;
  options_.set_sizes(sizes);
  return {};
}

void StreamSocket::meet(const Offer& peer) {
  endpoint_.meet(peer);
  window_ = SendWindow(peer);
  const Sizes& sizes = options_.sizes();
  send_ring_ = SendRing(sizes.send_buffer);
  ring_.emplace(sizes.receive_buffer, sizes.receive_queue);
  readable_ = writable_ = true;
}

void StreamSocket::fail_with(int error) {
  stage_ = Stage::failed;
  error_ = error;
}

void StreamSocket::take_cm_events() {
  if (stage_ == Stage::listening) return;
  const Stage before = stage_;
  rdma_cm_event* taken = nullptr;
  while (rdma_get_cm_event(channel_.get(), &taken) == 0) {
    const EventPtr event(taken);
    take_cm_event(*event);
  }
  if (stage_ != before) sleepers_.wake_all();  // to whom the channel has become silent
}

void StreamSocket::take_cm_event(const rdma_cm_event& event) {
  Result<void> next;
  switch (event.event) {
    case RDMA_CM_EVENT_ADDR_RESOLVED:
      retries_ = 0;
      next = resolve_route();
      break;
    case RDMA_CM_EVENT_ROUTE_RESOLVED:
      retries_ = 0;
      next = start_connect();
      break;
    case RDMA_CM_EVENT_ESTABLISHED:
      if (stage_ == Stage::connecting) finish_connect(event.param.conn);
      if (stage_ == Stage::accepting) stage_ = Stage::connected;
      break;
    case RDMA_CM_EVENT_ADDR_ERROR:
      next = event.status == -ETIMEDOUT && retries_ <= kMostRetries ? resolve_address() : fail(-event.status);
      break;
    case RDMA_CM_EVENT_ROUTE_ERROR:
      next = event.status == -ETIMEDOUT && retries_ <= kMostRetries ? resolve_route() : fail(-event.status);
      break;
    case RDMA_CM_EVENT_REJECTED:
      next = fail(ECONNREFUSED);
      break;
    case RDMA_CM_EVENT_UNREACHABLE:
    case RDMA_CM_EVENT_CONNECT_ERROR:
      next = fail(event.status < 0 ? -event.status : ECONNREFUSED);
      break;
    case RDMA_CM_EVENT_DISCONNECTED:  // of a peer that ended without a word, too
      if (stage_ == Stage::accepting) next = fail(ECONNRESET);
      if (stage_ == Stage::connected) stage_ = Stage::disconnected;
      break;
    case RDMA_CM_EVENT_DEVICE_REMOVAL:
      next = fail(ENODEV);
      break;
    default:
      break;
  }
  if (!next) fail_with(next.error());
}

Result<void> StreamSocket::wait_connected(Lock& lock, bool nonblock) {
  if (opening()) {
    if (auto done = wait(lock, nonblock, &StreamSocket::not_opening); !done) return done;
  }
  if (stage_ == Stage::failed && error_ != 0) return fail(std::exchange(error_, 0));
  if (!ring_) return fail(ENOTCONN);
  return {};
}

Result<void> StreamSocket::send_control(Lock& lock, Work work, Control control) {
  if (auto done = wait(lock, false, &StreamSocket::can_control_or_never); !done) return done;
  if (!connected()) return {};
  auto posted = endpoint_.post_control(work, {Op::control, static_cast<std::uint32_t>(control)});
  if (posted) ++controls_;
  return posted;
}

Result<void> StreamSocket::shutdown(int how) {
  if (how != SHUT_RD && how != SHUT_WR && how != SHUT_RDWR) return fail(EINVAL);
  Lock lock(mutex_);
  if (opening()) static_cast<void>(wait_connected(lock, false));
  if (!ring_) return fail(ENOTCONN);
  progress();
  const bool could_write = writable_;
  if (how != SHUT_WR) readable_ = false;
  if (how != SHUT_RD) writable_ = false;
  sleepers_.wake_all();
  if (!connected()) return {};
  Result<void> told;
  if (!readable_ && !writable_) {
    told = send_control(lock, Work::disconnect, Control::disconnect);
  } else if (could_write && !writable_) {
    told = send_control(lock, Work::control, Control::shutdown);
  }
  while (told) {
    told = wait(lock, false, &StreamSocket::all_sent_or_never);
    if (told || told.error() != EINTR) break;
    told = {};
  }
  if (connected() && !readable_ && !writable_) stage_ = Stage::disconnected;
  return told;
}

void StreamSocket::close() {
  static_cast<void>(shutdown(SHUT_RDWR));
  const Lock lock(mutex_);
  closed_ = true;
  accepted_.reset();
  if (opening()) fail_with(ECONNABORTED);
  sleepers_.wake_all();
}

Result<void> StreamSocket::local_name(sockaddr* address, socklen_t* length) {
  const Lock lock(mutex_);
  return give_name(*rdma_get_local_addr(id_.get()), address, length);
}

Result<void> StreamSocket::peer_name(sockaddr* address, socklen_t* length) {
  const Lock lock(mutex_);
  if (!ring_) return fail(ENOTCONN);
  return give_name(*rdma_get_peer_addr(id_.get()), address, length);
}

// ---- options

SocketOptions::Stage StreamSocket::option_stage() const {
  return {.id = id_.get(),
          .named = stage_ != Stage::fresh,
          .opening = stage_ >= Stage::resolving_address,
          .made = endpoint_.made(),
          .connected = connected(),
          .error = 0};
}

Result<void> StreamSocket::set_option(int level, int name, const void* value, socklen_t length) {
  const Lock lock(mutex_);
  return options_.set(option_stage(), level, name, value, length);
}

Result<void> StreamSocket::get_option(int level, int name, void* value, socklen_t* length) {
  if (value == nullptr || length == nullptr) return fail(EFAULT);
  const Lock lock(mutex_);
  SocketOptions::Stage stage = option_stage();
  if (level == SOL_SOCKET && name == SO_ERROR) {
    progress();
    stage.error = std::exchange(error_, 0);
  }
  return options_.get(stage, level, name, value, length);
}

Result<int> StreamSocket::control(int command, long argument) {
  const Lock lock(mutex_);
  return options_.control(command, argument);
}

}  // namespace softrnic::rsocket
