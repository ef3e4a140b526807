// How bytes move through a stream rsocket, and how its calls wait.
#include <algorithm>
#include <array>

#include "base/reason_id.h"
#include "rsocket/gather.h"
#include "rsocket/sizes.h"
#include "rsocket/stream_socket.h"

namespace softrnic::rsocket {

bool StreamSocket::can_send() const {
  return ring_ && send_ring_.free() >= kLeastSendRoom &&
         sends_ + kControlMessages < options_.sizes().send_queue && window_.has_credit() &&
         window_.has_room();
}

void StreamSocket::take_message(const ibv_wc& completion) {
  const auto came = endpoint_.message_in(completion);
  if (!came) return;
  const Message& message = *came;
  switch (message.op) {
    case Op::data:
      if (!ring_->arrived(message.value)) {
        fail_with(refused(EPROTO, ReasonId::rsocket_overrun, message.value).error);
      }
      break;
    case Op::segment:
      window_.credits(message.value);
      if (endpoint_.announces(completion, window_.next_row())) window_.announced();
      break;
    case Op::iomap:
      ring_->arrived_without_bytes();
      break;
    case Op::control:
      if (message.value == static_cast<std::uint32_t>(Control::disconnect) && connected())
        stage_ = Stage::disconnected;
      if (message.value == static_cast<std::uint32_t>(Control::shutdown) && connected()) {
        readable_ = false;
        if (!writable_) stage_ = Stage::disconnected;
      }
      break;
    default:
      break;
  }
}

void StreamSocket::take_sent(const ibv_wc& completion) {
  switch (work_of(completion.wr_id)) {
    case Work::data:
    case Work::mapping:
      --sends_;
      send_ring_.give_back(static_cast<std::uint32_t>(completion.wr_id));
      break;
    case Work::part:
      break;
    default:
      --controls_;
      break;
  }
  if (completion.status != IBV_WC_SUCCESS && connected()) fail_with(EIO);
}

bool StreamSocket::take_completions() {
  std::array<ibv_wc, 16> completions;
  bool any = false;
  for (;;) {
    const int count =
        ibv_poll_cq(endpoint_.completions().get(), static_cast<int>(completions.size()), completions.data());
    std::uint32_t received = 0;
    for (int i = 0; i < count; ++i) {
      const ibv_wc& completion = completions[i];
      if (work_of(completion.wr_id) != Work::receive) {
        take_sent(completion);
      } else if (completion.status == IBV_WC_SUCCESS) {
        ++received;
        take_message(completion);
      }
    }
    any |= count > 0;
    if (received > 0 && connected()) {
      if (auto posted = endpoint_.post_receives(received); !posted) fail_with(posted.error());
    }
    if (count < static_cast<int>(completions.size())) return any;
  }
}

void StreamSocket::refill_window() {
  if (window_.wants_row()) {
    Segment row = endpoint_.take_segment_row(window_.row());
    window_.took_row(row);
  }
}

void StreamSocket::update_peer() {
  if (!connected() || !ring_->update_due() || !can_control()) return;
  if (auto posted = endpoint_.post_update(ring_->update()); posted) {
    ++controls_;
  } else {
    fail_with(posted.error());
  }
}

void StreamSocket::progress() {
  if (!ring_) {
    take_cm_events();
    if (!ring_) return;
  }
  const Stage before = stage_;
  if (stage_ == Stage::accepting) take_cm_events();
  bool any = stage_ != Stage::accepting && take_completions();
  refill_window();
  update_peer();
  any |= stage_ != before;
  if (any) sleepers_.wake_all();
}

void StreamSocket::add_descriptors(std::vector<pollfd>& descriptors) const {
  descriptors.push_back({channel_->fd, POLLIN, 0});
  if (ring_) descriptors.push_back({endpoint_.completions().descriptor(), POLLIN, 0});
}

void StreamSocket::after_sleep(Waker& waker) {
  const Lock lock(mutex_);
  sleepers_.remove(waker);
  if (stage_ == Stage::listening) return;
  if (ring_) {
    endpoint_.completions().take_event();
    // What the peer wrote before it went stands in the queue already.
    progress();
  }
  take_cm_events();
}

void StreamSocket::look_closer() {
  if (!ring_ || stage_ == Stage::connected) take_cm_events();
}

bool StreamSocket::arm() {
  if (!ring_ || endpoint_.completions().armed()) return false;
  endpoint_.completions().arm();
  return true;
}

Result<std::size_t> StreamSocket::receive(msghdr& message, int flags) {
  const auto done = receive(parts_of(message), flags);
  message.msg_flags = 0;
  if (done && *done > 0 && message.msg_name != nullptr)
    static_cast<void>(peer_name(static_cast<sockaddr*>(message.msg_name), &message.msg_namelen));
  return done;
}

Result<std::size_t> StreamSocket::receive(std::span<const iovec> to, int flags) {
  Lock lock(mutex_);
  if (auto ready = wait_connected(lock, nonblocking(flags)); !ready) return fail(ready.error());
  const bool peek = (flags & MSG_PEEK) != 0;
  std::size_t done = 0;
  for (std::size_t part = 0, offset = 0; part < to.size();) {
    const MutableBytes room(static_cast<std::byte*>(to[part].iov_base) + offset, to[part].iov_len - offset);
    if (room.empty()) {
      ++part;
      offset = 0;
      continue;
    }
    if (ring_->empty()) {
      const bool enough = done > 0 && (flags & MSG_WAITALL) == 0;
      if (enough) break;
      auto arrived = wait(lock, nonblocking(flags), &StreamSocket::can_receive_or_never);
      if (!arrived) {
        if (done > 0) break;
        return fail(arrived.error());
      }
      if (ring_->empty()) {  // the end, or the end of the connection
        if (done == 0 && stage_ == Stage::failed && error_ != 0) return fail(std::exchange(error_, 0));
        break;
      }
    }
    const std::size_t now =
        peek ? ring_->peek(endpoint_.receive_bytes(), room) : ring_->take(endpoint_.receive_bytes(), room);
    done += now;
    offset += now;
    if (peek) break;
  }
  if (!peek) update_peer();
  return done;
}

Result<std::size_t> StreamSocket::send_all(Lock& lock, std::span<const iovec> from, bool nonblock) {
  Gather bytes(from);
  std::size_t done = 0;
  std::uint32_t piece = kFirstPiece;
  while (bytes.left() > 0) {
    if (!connected() || !writable_ || !can_send()) {
      auto ready = wait(lock, nonblock, &StreamSocket::can_send_or_never);
      if (ready && (!connected() || !writable_)) ready = fail(writable_ ? ECONNRESET : EPIPE);
      if (!ready) return done > 0 ? Result<std::size_t>(done) : fail(ready.error());
    }
    const auto wanted =
        static_cast<std::uint32_t>(std::min<std::size_t>({bytes.left(), piece, send_ring_.free()}));
    piece = std::min(piece * 2, kLargestPiece);
    const Segment to = window_.spend(wanted);
    const SendRing::Place place = send_ring_.take(to.length);
    bytes.copy(endpoint_.send_bytes().subspan(place.at, place.first));
    bytes.copy(endpoint_.send_bytes().subspan(0, place.second));
    if (auto posted = endpoint_.post(Work::data, {Op::data, to.length}, place, to); !posted) {
      fail_with(EIO);
      return fail(posted.error());
    }
    ++sends_;
    done += to.length;
    refill_window();
  }
  return done;
}

Result<std::size_t> StreamSocket::send(const msghdr& message, int flags) {
  Lock lock(mutex_);
  if (auto ready = wait_connected(lock, nonblocking(flags)); !ready) return fail(ready.error());
  if (auto told = tell_mappings(lock, nonblocking(flags)); !told) return fail(told.error());
  return send_all(lock, parts_of(message), nonblocking(flags));
}

short StreamSocket::state_events(short events) const {
  if (stage_ == Stage::failed) return static_cast<short>((events & (POLLIN | POLLOUT)) | POLLERR);
  if (!ring_ || opening()) return 0;
  short true_now = 0;
  if (can_receive_or_never()) true_now |= POLLIN | POLLRDNORM;
  if (can_send_or_never()) true_now |= POLLOUT | POLLWRNORM;
  true_now &= events;
  // Not before all is read: a program that sees POLLHUP may not look for more.
  return stage_ == Stage::disconnected && ring_->empty() ? static_cast<short>(true_now | POLLHUP) : true_now;
}

short StreamSocket::listener_events(short events) {
  if (!closed_) take_requests();
  const short true_now = accepted_ ? POLLIN | POLLRDNORM | POLLOUT : POLLOUT;
  return static_cast<short>(events & true_now);
}

short StreamSocket::ready(short events) {
  const Lock lock(mutex_);
  if (stage_ == Stage::listening) return listener_events(events);
  progress();
  short now = state_events(events);
  if (now == 0 && ring_) {
    take_cm_events();
    now = state_events(events);
  }
  return now;
}

short StreamSocket::prepare(short events, std::vector<pollfd>& descriptors, Waker& waker) {
  const Lock lock(mutex_);
  if (stage_ == Stage::listening) {
    if (const short now = listener_events(events); now != 0) return now;
  } else {
    if (ring_) endpoint_.completions().arm();
    progress();
    if (const short now = state_events(events); now != 0) return now;
  }
  sleepers_.add(waker);
  add_descriptors(descriptors);
  return 0;
}

}  // namespace softrnic::rsocket
