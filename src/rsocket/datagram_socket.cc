// The life of a datagram rsocket: names, peers, options.
#include "rsocket/datagram_socket.h"

#include <rdma/rsocket.h>

#include <algorithm>

#include "base/kernel_socket.h"
#include "base/reason_id.h"

namespace softrnic::rsocket {
namespace {

Result<InetAddress> name_of(int fd, int (*ask)(int, sockaddr*, socklen_t*)) {
  sockaddr_storage name{};
  socklen_t length = sizeof name;
  if (ask(fd, generic(name), &length) != 0) return fail_errno();
  return InetAddress::of(generic(std::as_const(name)));
}

Result<void> give_name_of(int fd, int (*ask)(int, sockaddr*, socklen_t*), sockaddr* address,
                          socklen_t* length) {
  if (address == nullptr || length == nullptr) return refused(EFAULT, ReasonId::null_argument);
  if (ask(fd, address, length) != 0) return fail_errno();
  return {};
}

Result<UniqueFd> make_udp(int family) {
  UniqueFd udp(above_stdio(kernel_socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0)));
  if (!udp) return fail_errno();
  return udp;
}

}  // namespace

DatagramSocket::DatagramSocket(int family, UniqueFd udp, ChannelPtr channel, int flags)
    : family_(family), udp_(std::move(udp)), options_(defaults().sizes), paths_(std::move(channel)) {
  options_.set_flags(flags);
}

Result<std::shared_ptr<DatagramSocket>> DatagramSocket::make(int family, int flags) {
  auto udp = make_udp(family);
  if (!udp) return fail(udp.error());
  auto channel = make_channel();
  if (!channel) return fail(channel.error());
  return std::shared_ptr<DatagramSocket>(
      new DatagramSocket(family, std::move(*udp), std::move(*channel), flags));
}

Result<void> DatagramSocket::bind(const sockaddr* address, socklen_t length) {
  if (auto known = known_address(address, length); !known) return known;
  const Lock lock(mutex_);
  if (::bind(udp_.get(), address, length) != 0) return fail_errno();
  named_ = readable_ = writable_ = true;
  return {};
}

Result<void> DatagramSocket::bind_port(std::uint16_t port) {
  InetAddress any;
  any.port = port;
  const sockaddr_storage address = any.as(family_);
  if (::bind(udp_.get(), &generic(address), size_of(generic(address))) != 0) return fail_errno();
  named_ = readable_ = writable_ = true;
  return {};
}

/// A port of the kernel's choice goes with the peer, but ours stands in the headers that we send.
Result<void> DatagramSocket::keep_port(const InetAddress& before) {
  const auto now = name_of(udp_.get(), ::getsockname);
  if (!now) return fail(now.error());
  return now->port == 0 ? bind_port(before.port) : Result<void>();
}

Result<void> DatagramSocket::connect(const sockaddr* address, socklen_t length) {
  const bool dissolves =
      address != nullptr && length >= sizeof address->sa_family && address->sa_family == AF_UNSPEC;
  if (!dissolves) {
    if (auto known = known_address(address, length); !known) return known;
  }
  const Lock lock(mutex_);
  const auto own = name_of(udp_.get(), ::getsockname);
  if (!own) return fail(own.error());
  if (::connect(udp_.get(), address, length) != 0) return fail_errno();
  if (peer_) {
    if (Destination* const former = destinations_.find(*peer_)) former->connected = false;
    peer_.reset();
  }
  if (dissolves) return named_ ? keep_port(*own) : Result<void>();
  named_ = readable_ = writable_ = true;
  return meet_peer();
}

/// The kernel has told it its peer: from then on, and from before, it hears of that alone.
Result<void> DatagramSocket::meet_peer() {
  const auto peer = name_of(udp_.get(), ::getpeername);
  if (!peer) return fail(peer.error());
  const auto found = destination_of(*peer);
  if (!found) return fail(found.error());
  (*found)->connected = true;
  peer_ = *peer;
  std::erase_if(inbox_, [&](const Datagram& datagram) {
    if (datagram.sender == *peer_) return false;
    discard(datagram);
    return true;
  });
  return {};
}

Result<void> DatagramSocket::shutdown(int how) {
  if (how != SHUT_RD && how != SHUT_WR && how != SHUT_RDWR) return fail(EINVAL);
  const Lock lock(mutex_);
  if (!peer_) return fail(ENOTCONN);
  if (how != SHUT_WR) readable_ = false;
  if (how != SHUT_RD) writable_ = false;
  sleepers_.wake_all();
  return {};
}

void DatagramSocket::close() {
  Lock lock(mutex_);
  readable_ = writable_ = false;
  const auto all_sent = [this] {
    return std::ranges::all_of(endpoints_, [](const auto& endpoint) { return endpoint->all_sent(); });
  };
  for (;;) {
    const auto done = wait(lock, false, all_sent);
    if (done || done.error() != EINTR) break;
  }
  closed_ = true;
  sleepers_.wake_all();
}

Result<void> DatagramSocket::local_name(sockaddr* address, socklen_t* length) {
  return give_name_of(udp_.get(), ::getsockname, address, length);
}

Result<void> DatagramSocket::peer_name(sockaddr* address, socklen_t* length) {
  return give_name_of(udp_.get(), ::getpeername, address, length);
}

// ---- peers

/// Our address on the way there: it decides which device and queue pair a datagram takes.
Result<InetAddress> DatagramSocket::source_towards(const InetAddress& address) const {
  const auto own = name_of(udp_.get(), ::getsockname);
  if (!own || !own->is_any()) return own;
  const auto probe = make_udp(family_);
  if (!probe) return fail(probe.error());
  const int on = 1;  // whether it may broadcast is for the UDP socket to say
  setsockopt(probe->get(), SOL_SOCKET, SO_BROADCAST, &on, sizeof on);
  const sockaddr_storage to = address.as(family_);
  if (::connect(probe->get(), &generic(to), size_of(generic(to))) != 0) return fail_errno();
  auto source = name_of(probe->get(), ::getsockname);
  if (source) source->port = own->port;
  return source;
}

Result<DatagramEndpoint*> DatagramSocket::endpoint_at(const InetAddress& local) {
  for (const auto& endpoint : endpoints_)
    if (endpoint->local().same_host(local)) return endpoint.get();
  auto made = DatagramEndpoint::make(local, family_, options_.sizes());
  if (!made) return fail(made.error());
  options_.set_sizes((*made)->sizes());
  endpoints_.push_back(std::move(*made));
  sleepers_.wake_all();  // they do not know its descriptor
  return endpoints_.back().get();
}

Result<Destination*> DatagramSocket::destination_of(const InetAddress& address) {
  if (Destination* const known = destinations_.find(address)) return known;
  const auto source = source_towards(address);
  if (!source) return fail(source.error());
  const auto endpoint = endpoint_at(*source);
  if (!endpoint) return fail(endpoint.error());
  return &destinations_.add(address, **endpoint);
}

/// The wildcard is the loopback address, as for every socket.
Result<Destination*> DatagramSocket::destination_of(const msghdr& message) {
  const auto* const name = static_cast<const sockaddr*>(message.msg_name);
  if (name == nullptr) {
    if (!peer_) return refused(EDESTADDRREQ, ReasonId::rsocket_no_destination);
    return destination_of(*peer_);
  }
  if (auto known = known_address(name, message.msg_namelen); !known) return fail(known.error());
  if (family_ == AF_INET && name->sa_family == AF_INET6) return fail(EAFNOSUPPORT);
  if (!named_) {  // before the first datagram tells the port
    if (auto named = bind_port(0); !named) return fail(named.error());
  }
  const InetAddress address = InetAddress::of(*name);
  return destination_of(address.is_any() ? address.loopback() : address);
}

// ---- options

SocketOptions::Stage DatagramSocket::option_stage() const {
  return {.id = nullptr,
          .named = named_,
          .opening = named_,
          .made = !endpoints_.empty(),
          .connected = peer_.has_value(),
          .error = 0};
}

// Those of RDMA are ours, the sizes of buffers are for both ways, and all others are the UDP socket's.
Result<void> DatagramSocket::set_option(int level, int name, const void* value, socklen_t length) {
  const Lock lock(mutex_);
  const bool of_buffers = level == SOL_SOCKET && (name == SO_RCVBUF || name == SO_SNDBUF);
  if (level == SOL_RDMA || of_buffers) {
    auto set = options_.set(option_stage(), level, name, value, length);
    if (!set || !of_buffers) return set;
  }
  if (setsockopt(udp_.get(), level, name, value, length) != 0) return fail_errno();
  return {};
}

Result<void> DatagramSocket::get_option(int level, int name, void* value, socklen_t* length) {
  if (value == nullptr || length == nullptr) return fail(EFAULT);
  const Lock lock(mutex_);
  if (level == SOL_RDMA || (level == SOL_SOCKET && (name == SO_RCVBUF || name == SO_SNDBUF)))
    return options_.get(option_stage(), level, name, value, length);
  if (getsockopt(udp_.get(), level, name, value, length) != 0) return fail_errno();
  return {};
}

Result<int> DatagramSocket::control(int command, long argument) {
  const Lock lock(mutex_);
  return options_.control(command, argument);
}

}  // namespace softrnic::rsocket
