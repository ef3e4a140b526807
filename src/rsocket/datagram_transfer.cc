// How datagrams move through a datagram rsocket, by UD and by UDP.
#include <algorithm>
#include <array>

#include "base/reason_id.h"
#include "rsocket/datagram_socket.h"

namespace softrnic::rsocket {
namespace {

// A look at the UDP socket is a system call. While there is enough to do without, new peers can wait for so
// many turns.
constexpr unsigned kTurns = 32;
// And when many want to be heard there, the program comes first again after so many.
constexpr int kMostByUdp = 16;

}  // namespace

// ---- taking in

bool DatagramSocket::take_completions() {
  bool any = false;
  for (const auto& endpoint : endpoints_) {
    arrivals_.clear();
    any |= endpoint->take_completions(arrivals_);
    for (const DatagramEndpoint::Arrival& arrival : arrivals_) take_arrival(*endpoint, arrival);
  }
  return any;
}

/// What is not of the peer it is connected to does not reach a program by UDP either.
void DatagramSocket::take_arrival(DatagramEndpoint& endpoint, const DatagramEndpoint::Arrival& arrival) {
  if (arrival.good && (!peer_ || arrival.sender == *peer_)) {
    inbox_.push_back({arrival.sender, &endpoint, arrival.slot, {}, arrival.payload});
    return;
  }
  endpoint.give_back(arrival.slot);
  if (!arrival.good) tell(ReasonId::rsocket_datagram_dropped, arrival.size);
}

void DatagramSocket::take_udp() {
  std::array<std::byte, kDatagramRoom> buffer;
  for (int i = 0; i < kMostByUdp && named_ && has_room_for_udp(); ++i) {
    sockaddr_storage from{};
    iovec part{buffer.data(), buffer.size()};
    msghdr message{};
    message.msg_name = &from;
    message.msg_namelen = sizeof from;
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    const ssize_t size = recvmsg(udp_.get(), &message, MSG_DONTWAIT);
    if (size >= 0) {
      if ((message.msg_flags & MSG_TRUNC) != 0) part.iov_len = 0;  // nobody who knows the rules sends as much
      take_udp_message(
          Bytes(buffer).first(std::min<std::size_t>(part.iov_len, static_cast<std::size_t>(size))),
          InetAddress::of(generic(std::as_const(from))));
      continue;
    }
    if (errno == EAGAIN) return;
    tell(ReasonId::rsocket_udp_error, errno);
  }
}

void DatagramSocket::take_udp_message(Bytes bytes, const InetAddress& sender) {
  const auto message = decode_udp(bytes);
  if (!message) {
    tell(ReasonId::rsocket_udp_dropped, bytes.size());
    return;
  }
  if (message->op ==
      UdpOp::control) {  // an answer: to nothing that we have sent, if we do not know the sender
    Destination* const to = destinations_.find(sender);
    if (to == nullptr) return;
    to->qpn = message->qpn;
    paths_.want_path(*to);
    return;
  }
  const auto to = destination_of(sender);
  if (!to) return;  // it has been explained
  (*to)->qpn = message->qpn;
  static_cast<void>(send_udp(**to, UdpOp::control, {}));
  Datagram datagram;
  datagram.sender = sender;
  datagram.own.assign(message->payload.begin(), message->payload.end());
  datagram.payload = datagram.own;
  inbox_.push_back(std::move(datagram));  // the bytes stay where they are
  ++by_udp_;
}

void DatagramSocket::discard(const Datagram& datagram) {
  if (datagram.endpoint != nullptr) {
    datagram.endpoint->give_back(datagram.slot);
  } else {
    --by_udp_;
  }
}

void DatagramSocket::progress() {
  const std::size_t before = inbox_.size();
  bool any = take_completions();
  if (++turns_ >= kTurns) look_closer();
  any |= inbox_.size() != before;
  if (any) sleepers_.wake_all();
}

void DatagramSocket::look_closer() {
  turns_ = 0;
  take_udp();
  paths_.take_events();
}

// ---- receiving

Result<std::size_t> DatagramSocket::receive(msghdr& message, int flags) {
  Lock lock(mutex_);
  if (!named_) return refused(EINVAL, ReasonId::rsocket_no_address);
  if (inbox_.empty()) {
    auto come = wait(lock, nonblocking(flags), [this] { return can_receive_or_never(); });
    if (!come) return fail(come.error());
    if (closed_) return fail(EBADF);
  }
  message.msg_flags = 0;
  if (inbox_.empty()) return std::size_t{0};
  const Datagram& first = inbox_.front();
  const std::size_t size = first.payload.size();
  const std::size_t done = scatter(first.payload, parts_of(message));
  if (done < size) message.msg_flags = MSG_TRUNC;
  if (message.msg_name != nullptr) {
    const sockaddr_storage sender = first.sender.as(family_);
    static_cast<void>(
        give_name(generic(sender), static_cast<sockaddr*>(message.msg_name), &message.msg_namelen));
  }
  if ((flags & MSG_PEEK) == 0) {
    discard(first);
    inbox_.pop_front();
  }
  return (flags & MSG_TRUNC) != 0 ? size : done;
}

// ---- sending

Result<std::size_t> DatagramSocket::send(const msghdr& message, int flags) {
  const bool nonblock = nonblocking(flags);
  Lock lock(mutex_);
  auto to = destination_of(message);
  if (!to) return fail(to.error());
  if (!writable_) return fail(EPIPE);
  Gather bytes(parts_of(message));
  const std::size_t size = bytes.left();
  const std::size_t most = kDatagramRoom - udp_header_size(family_);
  if (size > most) return refused(EMSGSIZE, ReasonId::rsocket_datagram_size, size, most);
  if (!(*to)->ready() || ++turns_ >= kTurns) {
    look_closer();
    if (to = destination_of(message); !to) return fail(to.error());
    paths_.want_path(**to);
  }
  DatagramEndpoint& from = *(*to)->from;
  if ((*to)->ready() && !from.can_send()) {
    auto sent = wait(lock, nonblock, [&] { return from.can_send() || closed_ || !writable_; });
    if (!sent) return fail(sent.error());
    if (closed_ || !writable_) return fail(closed_ ? EBADF : EPIPE);
    if (to = destination_of(message); !to) return fail(to.error());
  }
  Destination& peer = **to;
  if (!peer.ready() || size + from.header_size() > peer.most)
    return send_by_udp(lock, peer.address, message, nonblock);
  if (auto sent = from.send(peer.handle.get(), peer.qpn, bytes); !sent) return fail(sent.error());
  return size;
}

Result<void> DatagramSocket::send_udp(const Destination& to, UdpOp op, std::span<const iovec> parts) {
  HeaderBytes header = udp_header(op, to.from->qpn(), to.from->local(), family_);
  std::vector<iovec> all{{header.data(), header.size()}};
  all.insert(all.end(), parts.begin(), parts.end());
  sockaddr_storage name = to.address.as(family_);
  msghdr message{};
  message.msg_name = &name;
  message.msg_namelen = size_of(generic(std::as_const(name)));
  message.msg_iov = all.data();
  message.msg_iovlen = all.size();
  if (sendmsg(udp_.get(), &message, MSG_DONTWAIT | MSG_NOSIGNAL) < 0) return fail_errno();
  return {};
}

Result<std::size_t> DatagramSocket::send_by_udp(Lock& lock, const InetAddress& to, const msghdr& message,
                                                bool nonblock) {
  const InetAddress address = to;  // the entry may go while we wait
  for (;;) {
    const auto found = destination_of(address);
    if (!found) return fail(found.error());
    const auto sent = send_udp(**found, UdpOp::data, parts_of(message));
    if (sent) return Gather(parts_of(message)).left();
    if (nonblock || sent.error() != EAGAIN) return fail(sent.error());
    lock.unlock();
    pollfd room{udp_.get(), POLLOUT, 0};
    const int woken = poll(&room, 1, -1);
    const int error = errno;
    lock.lock();
    if (woken < 0) return fail(error);
    if (closed_) return fail(EBADF);
  }
}

// ---- waiting

bool DatagramSocket::can_send() const {
  return std::ranges::all_of(endpoints_, [](const auto& endpoint) { return endpoint->can_send(); });
}

bool DatagramSocket::arm() {
  bool any = false;
  for (const auto& endpoint : endpoints_) any |= endpoint->completions().arm();
  return any;
}

void DatagramSocket::add_descriptors(std::vector<pollfd>& descriptors) const {
  if (has_room_for_udp()) descriptors.push_back({udp_.get(), POLLIN, 0});
  if (paths_.resolving()) descriptors.push_back({paths_.descriptor(), POLLIN, 0});
  for (const auto& endpoint : endpoints_)
    descriptors.push_back({endpoint->completions().descriptor(), POLLIN, 0});
}

short DatagramSocket::state_events(short events) const {
  short true_now = 0;
  if (can_receive_or_never() && named_) true_now |= POLLIN | POLLRDNORM;
  if (can_send()) true_now |= POLLOUT | POLLWRNORM;
  return static_cast<short>(true_now & events);
}

short DatagramSocket::ready(short events) {
  const Lock lock(mutex_);
  progress();
  short now = state_events(events);
  if (now == 0) {
    look_closer();
    now = state_events(events);
  }
  return now;
}

short DatagramSocket::prepare(short events, std::vector<pollfd>& descriptors, Waker& waker) {
  const Lock lock(mutex_);
  arm();
  progress();
  if (const short now = state_events(events); now != 0) return now;
  sleepers_.add(waker);
  add_descriptors(descriptors);
  return 0;
}

void DatagramSocket::after_sleep(Waker& waker) {
  const Lock lock(mutex_);
  sleepers_.remove(waker);
  for (const auto& endpoint : endpoints_) endpoint->completions().take_event();
  progress();
  look_closer();
}

}  // namespace softrnic::rsocket
