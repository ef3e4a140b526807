#include "engine/qp_stream.h"

#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/attempt.h"
#include "base/reason_id.h"

namespace softrnic::engine {
namespace {

/// From so many bytes of payload in one piece on it is read to its place. Then little is read behind it: the
/// headers of what follows, whose payload can go to its place in turn.
constexpr std::size_t kLongPayload = 16 * 1024;
constexpr std::size_t kBehindPayload = 4096;
/// What a peer said before its connection broke: at most what its socket takes, as a rule.
constexpr std::size_t kLastWords = 16 * 1024;
constexpr std::size_t kMostLastWords = 4 << 20;

}  // namespace

int QpStream::begin(UniqueFd& socket, const rnic::StreamStart& start) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.ptr = this;
  if (const int error = socket_.open(socket, around_.tap)) return error;
  if (epoll_ctl(around_.epoll, EPOLL_CTL_ADD, socket_.fd(), &event) == 0) {
    socket_.show_begin(start.agreement, start.initiator);
    return 0;
  }
  const int error = errno;
  socket = socket_.give_back();
  return error;
}

// A broken connection is told of whether that is asked for or not: while it waits once, else as long as it
// is not dealt with.
void QpStream::watch() {
  epoll_event event{};
  event.events = blocked_ ? std::uint32_t{EPOLLOUT} : 0U;
  event.events |= waits_ ? std::uint32_t{EPOLLET} : peer_writes_ ? std::uint32_t{EPOLLIN} : 0U;
  event.data.ptr = this;
  static_cast<void>(epoll_ctl(around_.epoll, EPOLL_CTL_MOD, socket_.fd(), &event));
}

// A child may still have a copy of the descriptor, with which it would stay in the instance.
void QpStream::leave() {
  static_cast<void>(epoll_ctl(around_.epoll, EPOLL_CTL_DEL, socket_.fd(), nullptr));
  around_.ended.push_back(this);
}

void QpStream::end() {
  if (!is_open()) return;
  leave();
  socket_.close();
}

// ---- in

std::size_t QpStream::happened(std::uint32_t events, MutableBytes staging, TimePoint now) {
  if (!is_open()) return 0;
  std::size_t reads = 0;
  if (!attempt([&] { reads = look(events, staging, now); })) give_up(now);
  attempt([&] {
    follow_wish(now);
    qp_.stream_moved();
  });
  return reads;
}

std::size_t QpStream::look(std::uint32_t events, MutableBytes staging, TimePoint now) {
  std::size_t reads = 0;
  if ((events & EPOLLOUT) != 0 && blocked_) {
    blocked_ = false;
    watch();
  }
  const bool broken = (events & (EPOLLERR | EPOLLHUP)) != 0;
  if (peer_writes_) {
    if (broken || (events & EPOLLIN) != 0) reads = read(staging, kTurnBytes, now);
  } else if (broken) {
    failed(reason_of(ECONNRESET), now);
  }
  return reads;
}

std::size_t QpStream::read(MutableBytes staging, std::size_t most, TimePoint now) {
  std::size_t reads = 0;
  for (std::size_t total = 0; total < most && peer_writes_ && !endpoint().waits();) {
    const MutableBytes room = endpoint().room();
    straight_ = straight_ || room.size() >= kLongPayload;
    const MutableBytes behind = staging.first(straight_ ? kBehindPayload : staging.size());
    const link::TcpStream::Moved got = socket_.read(room, behind);
    if (got.ended) {
      peer_writes_ = false;
      watch();
      endpoint().stream_ended(iwarp::StreamEnd::closed, now);
      break;
    }
    if (got.error != 0) failed(reason_of(got.error), now);
    if (got.bytes == 0) break;
    ++reads;
    total += got.bytes;
    const std::size_t placed = std::min(got.bytes, room.size());
    if (placed != 0) endpoint().filled(placed, now);
    if (got.bytes > placed) endpoint().receive(behind.first(got.bytes - placed), now);
    if (got.bytes < room.size() + behind.size()) break;
    straight_ = endpoint().room().size() >= kLongPayload;
  }
  if (endpoint().waits()) wait();
  return reads;
}

void QpStream::wait() {
  if (std::exchange(waits_, true)) return;
  around_.any_waiting.store(true, std::memory_order_relaxed);
  watch();
  around_.waiting.push_back(this);
}

bool QpStream::goes_on(TimePoint now) {
  if (!is_open()) return true;
  if (!attempt([&] { endpoint().try_again(now); })) give_up(now);
  waits_ = endpoint().waits();
  if (waits_) return false;
  watch();
  attempt([&] {
    follow_wish(now);
    qp_.stream_moved();
  });
  return true;
}

// A peer that has not read the reply of MPA may take what comes behind it for an error, and resets.
Reason QpStream::reason_of(int error) const {
  const bool early = endpoint().spoke_first() && (error == ECONNRESET || error == EPIPE);
  return because(early ? ReasonId::iwarp_spoke_first : ReasonId::iwarp_socket, error);
}

void QpStream::failed(const Reason& reason, TimePoint now) {
  peer_writes_ = false;
  watch();
  qp_.explain_stream(reason);
  endpoint().stream_ended(iwarp::StreamEnd::broken, now);
}

// Memory ran out in the middle of something: where the stream stands is not known.
void QpStream::give_up(TimePoint now) {
  if (!is_open()) return;
  attempt([&] { failed(because(ReasonId::out_of_memory, 0), now); });
}

// ---- out

std::size_t QpStream::write(TimePoint now) {
  if (!is_open()) return 0;
  std::size_t written = 0;
  if (!blocked_ && now >= stalled_until_ && !attempt([&] { written = write_some(now); })) give_up(now);
  if (written == 0) attempt([&] { follow_wish(now); });
  return written;
}

std::size_t QpStream::write_some(TimePoint now) {
  if (endpoint().hesitates()) endpoint().reply_arrived(socket_.all_acknowledged(), now);
  std::array<Bytes, link::TcpStream::kMaxPieces> gathered;
  const std::size_t count = endpoint().gather(gathered, now);
  std::size_t taken = 0;
  for (std::size_t bytes = 0; taken < count && bytes < kTurnBytes;) bytes += gathered[taken++].size();
  std::span<Bytes> pieces(gathered.data(), taken);
  if (pieces.empty() || (around_.faults && befallen(pieces, now))) return 0;
  std::size_t bytes = 0;
  for (const Bytes piece : pieces) bytes += piece.size();
  const link::TcpStream::Moved sent = socket_.write(pieces);
  endpoint().sent(sent.bytes, now);
  if (delayed_until() != kNever) delay_completion();
  if (sent.error != 0) {
    write_failed(sent.error, now);
  } else if (sent.bytes < bytes) {
    blocked_ = true;
    watch();
  }
  return sent.bytes;
}

void QpStream::delay_completion() {
  QpStream* const other = std::exchange(around_.delays, this);
  if (other != nullptr && other != this) other->complete_delayed();
}

// True: the write does not take place.
bool QpStream::befallen(std::span<Bytes>& pieces, TimePoint now) {
  switch (around_.faults->befall(pieces)) {
    case link::StreamFaults::Fate::passes:
      return false;
    case link::StreamFaults::Fate::cut:
      failed(because(ReasonId::iwarp_cut_injected), now);
      return true;
    case link::StreamFaults::Fate::stalls:
      break;
  }
  stalled_until_ = now + link::StreamFaults::kStall;
  std::erase(around_.stalled, this);  // it may have been written to before the lane found it
  around_.stalled.push_back(this);
  return true;
}

// The peer may have said why (a Terminate message) before it broke the connection.
void QpStream::write_failed(int error, TimePoint now) {
  std::array<std::byte, kLastWords> last_words;
  read(last_words, kMostLastWords, now);
  if (endpoint().ending() == iwarp::Ending::none) failed(reason_of(error), now);
}

// ---- the end

void QpStream::follow_wish(TimePoint now) {
  if (is_open() && endpoint().wish() == iwarp::StreamWish::shut_down) {
    if (const int error = socket_.shut_down()) {
      failed(reason_of(error), now);
    } else {
      endpoint().shut_down_done(now);
    }
  }
  if (!is_open() || endpoint().wish() != iwarp::StreamWish::close) return;
  if (endpoint().ending() != iwarp::Ending::lost) return end();
  leave();
  socket_.cut();
}

}  // namespace softrnic::engine
