#include "engine/lane.h"

#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <new>
#include <utility>

#include "base/clock.h"
#include "base/unique_fd.h"
#include "engine/attempt.h"
#include "link/null_link.h"
#include "rnic/completion_queue.h"
#include "rnic/context.h"

namespace softrnic::engine {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kSendRound = 256;    ///< packets sent before the lane reads again
constexpr unsigned kMaxRounds = 16;        ///< rounds a call may stay before the engine thread takes over
constexpr unsigned kPollRounds = 4;        ///< the same for a poll: a whole window of small packets
constexpr std::uint32_t kQuickPolls = 16;  ///< polls that look at nothing but rings, and then one that does
constexpr std::size_t kFewPackets = 8;     ///< take about a microsecond
constexpr Duration kHandOver = 50us;       ///< a program that polls goes on before the engine thread is woken
constexpr Duration kRecheckWindows = 10ms;  ///< a window may open without a packet (another QP was reset)
constexpr std::size_t kMaxQps = 65536;
constexpr std::size_t kLeastHeld = 2 << 20;

std::uint32_t receive_buffer_of(int socket) {
  std::uint32_t bytes = 0;
  socklen_t length = sizeof bytes;
  getsockopt(socket, SOL_SOCKET, SO_RCVBUF, &bytes, &length);
  return bytes;
}

}  // namespace

Lane::Lane(std::uint8_t number, std::uint16_t first_index, std::unique_ptr<link::Link> link,
           ControlPage& page, samehost::DirectShare* share, UniqueFd doorbell, ResolvePeer resolve_peer)
    : number_(number),
      link_(std::move(link)),
      timer_fd_(above_stdio(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK))),
      qps_(number, first_index, IndexOrder(random_key())),
      credit_(number, receive_buffer_of(link_->readable_fd())),
      direct_(number, doorbell ? share : nullptr),
      peers_(number, {mutex_, clock_, direct_, paths_}, std::move(resolve_peer)),
      eager_acks_(direct_.place() ? direct_.place()->acks : nullptr),
      hold_(std::max<std::size_t>(receive_buffer_of(link_->readable_fd()), kLeastHeld), addresses_),
      rows_(page, number) {
  if (!direct_.place()) return;
  auto inbox =
      std::make_unique<samehost::RingLink>(std::move(link_), number, *share, *direct_.place(),
                                           std::move(doorbell), static_cast<samehost::BriefReceiver&>(*this));
  inbox_ = inbox.get();
  peers_.use(*inbox_);
  link_ = std::move(inbox);
}

Lane::~Lane() {
  if (timer_fd_ >= 0) close(timer_fd_);
}

// ---- queue pairs

Expected<Qpn, Failure> Lane::attach(rnic::QueuePair& qp) {
  Failure failure;
  if (abandoned_) {
    failure = refuse(EIO, ReasonId::forked_child);
  } else {
    reserve(qps_.size() + 1);  // first: a queue pair that an exception destroys must not have a number
    if (const auto qpn = qps_.insert(qp)) {
      rows_.take_row(*qps_.find(*qpn));
      return *qpn;
    }
    failure = refuse(ENOMEM, ReasonId::out_of_qpns, kMaxQps);
  }
  explain({.reason = failure.reason});
  return Unexpected{failure};
}

// What a batch needs is there before: on the engine thread nobody could be told that memory ran out.
void Lane::reserve(std::size_t qps) {
  scheduler_.reserve(qps, paths_.size());
  deadlines_.reserve(qps);
  eager_acks_.reserve(qps);
  rows_.reserve(qps);
}

void Lane::detach(rnic::QueuePair& qp) {
  if (delayed_ack_.holds(qp)) transmit(qp);
  discard(qp);
  groups_.leave_all(*link_, qp);
  deadlines_.remove(qp);
  direct_.hide(qp.qpn());
  if (QpSlot* slot = qps_.find(qp.qpn())) {
    eager_acks_.forget(*slot);
    rows_.give_back_row(*slot);
  }
  qps_.erase(qp.qpn());
}

bool Lane::join(rnic::QueuePair& qp, const wire::Gid& group) {
  return groups_.join(*link_, qp, group, qp.context().info()->interface_index);
}

bool Lane::leave(rnic::QueuePair& qp, const wire::Gid& group) { return groups_.leave(*link_, qp, group); }

// ---- packets

bool Lane::packet(const ib::RxPacket& packet) {
  const Qpn qpn = packet.packet.headers.bth.destination;
  const auto opcode = static_cast<std::uint64_t>(packet.packet.headers.bth.opcode);
  if (qpn.value == Qpn::kMulticast) {
    const std::size_t members = groups_.for_each(packet.destination, [&](rnic::QueuePair& qp) {
      qp.receive(packet, clock_.batch_time());
      touch(qp);
    });
    if (members == 0)
      dropped(because(ReasonId::drop_no_multicast_member), ib::Counter::drop_unknown_qp, qpn, 1);
    return true;
  }
  if (qpn.lane() != number_) {
    dropped(because(ReasonId::drop_wrong_lane, qpn.value, number_), ib::Counter::drop_unknown_qp, qpn, 1);
    return true;
  }
  if (qpn.index() == Qpn::kLaneIndex) {
    const bool answers = !hold_.throttles(packet.source, packet.packet.headers.deth.source.lane());
    if (credit_.receive(packet, paths_, clock_.batch_time(), answers)) return true;
  }
  QpSlot* slot = qps_.find(qpn);
  if (slot == nullptr) {
    dropped(because(ReasonId::drop_unknown_qpn, qpn.value, opcode, packet.source.high_half(),
                    packet.source.low_half()),
            ib::Counter::drop_unknown_qp, qpn, 1);
    return true;
  }
  if (hold_.is_expected(*slot, packet, clock_.batch_time())) {
    hand_over(*slot, packet);
  } else if (const auto kept = hold_.keep(*slot, packet); !kept) {
    dropped(kept.error(), ib::Counter::drop_no_receive, qpn, packet.packets);
  }
  return true;
}

void Lane::hand_over(QpSlot& slot, const ib::RxPacket& packet) {
  eager_acks_.take_first(slot, [this](rnic::QueuePair& qp) { touch(qp); });
  slot.qp->receive(packet, clock_.batch_time());
  direct_.received(*slot.qp);
  touch(delayed_ack_.written(slot, packet, clock_.batch_time()));
  touch(*slot.qp);
}

void Lane::look_after_held() {
  hold_.look_again(clock_.batch_time(),
                   [this](QpSlot& slot, const ib::RxPacket& packet) { hand_over(slot, packet); });
  if (inbox_ == nullptr) return;
  for (std::size_t lane = 0; lane < samehost::kLocalLanes; ++lane)
    inbox_->throttle(static_cast<std::uint8_t>(lane), hold_.throttles(static_cast<std::uint8_t>(lane)));
}

void Lane::dropped(const Reason& reason, ib::Counter counter, Qpn qpn, std::uint64_t packets) {
  rows_.count(counter, packets);
  Explanation explanation;
  explanation.reason = reason;
  if (reason.id == ReasonId::drop_lane_overflow) explanation.reason.figures[1] = number_;
  const bool outgoing = counter == ib::Counter::send_errors || counter == ib::Counter::drop_injected;
  if (outgoing) {
    explanation.peer_qpn = qpn.value;
  } else if (qpn.lane() == number_ && qps_.find(qpn) != nullptr) {
    explanation.qpn = qpn.value;
  }
  explain(explanation);
}

void Lane::touch(rnic::QueuePair& qp) { scheduler_.touch(qp); }

void Lane::touch(QpSlot* slot) {
  if (slot != nullptr) touch(*slot->qp);
}

// ---- batches

bool Lane::send(std::size_t packets) {
  const auto out = [this](const ib::TxPacket& packet) {
    attempt([&] { link_->send(packet, clock_.batch_time()); });
  };
  const std::size_t sent = scheduler_.run(clock_.batch_time(), packets, out, [this](rnic::QueuePair& qp) {
    deadlines_.update(qp);
    row_is_old(qp);
  });
  if (credit_.any()) {
    // A question vouches for all that was sent before it, which may leave by other sockets.
    attempt([&] { link_->flush(clock_.batch_time()); });
    attempt([&] { credit_.send(out); });
  }
  attempt([&] { link_->flush(clock_.batch_time()); });
  peers_.look_after_stuck();
  return sent >= packets;
}

void Lane::expire() {
  while (rnic::QueuePair* qp = deadlines_.pop_due(clock_.batch_time())) {
    qp->expire(clock_.batch_time());
    touch(*qp);
  }
}

std::size_t Lane::batch(TimePoint now) {
  clock_.begin(now);
  if (hold_.any()) look_after_held();
  std::size_t packets = 0;
  // What the link has read already is behind the packet that was lost, and neither
  // has_packet() nor the socket tells.
  unread_ = !attempt([&] { packets = link_->receive(*this, now); });
  if (unread_) packets = 1;
  acknowledge_eager();
  take_acks();
  if (peers_.due() <= now) peers_.decide();
  expire();
  if (delayed_ack_.due() <= now) touch(delayed_ack_.release());
  send(kSendRound);
  publish();
  return packets;
}

void Lane::finish(Duration hand_over) {
  publish();
  if (rows_.due() <= clock_.batch_time())
    rows_.write(qps_, [this](const rnic::QueuePair& qp) { return direct_state(qp); });
  clock_.end();
  arm(hand_over);
}

void Lane::transmit(rnic::QueuePair& qp) {
  if (!clock_.in_batch() && send_eager(qp)) return;
  touch(qp);
  if (clock_.in_batch()) return;
  const TimePoint now = monotonic_now();
  clock_.begin(now);
  last_poll_.called(now);
  if (QpSlot* const slot = qps_.find(qp.qpn())) touch(delayed_ack_.posted(*slot, now));
  take_acks();  // what was acknowledged may let a WRITE go direct
  bool read = false;
  for (unsigned round = 0; send(kSendRound) && round < kMaxRounds; ++round) {
    // Much to send: let the ACKs in meanwhile, or what another queue pair of this lane is sent.
    publish();
    batch(monotonic_now());
    read = true;
  }
  finish(kHandOver);
  if (read) last_poll_.looked(monotonic_now());
}

// A look at the clock takes longer than one at the rings: while those are in use, most polls do without.
bool Lane::quick_poll(std::uint32_t polls) const {
  if (inbox_ == nullptr || !inbox_->active() || inbox_->rings_have_packet()) return true;
  return polls % kQuickPolls == 0;
}

bool Lane::has_news(TimePoint now) const { return eager_acks_.have_come() || link_->has_packet(now); }

rnic::Effort Lane::progress(rnic::CompletionSink& sink) {
  const std::uint32_t polls = polls_.load(std::memory_order_relaxed) + 1;
  polls_.store(polls, std::memory_order_relaxed);
  if (poll_eager(sink, polls)) return rnic::Effort::useful;
  if (!quick_poll(polls)) return rnic::Effort::quick_poll;
  const TimePoint now = monotonic_now();
  last_poll_.called(now);
  // Polling for nothing must not keep others (posts of other threads, the engine thread) from the lock.
  if (ns_of(now) < due_ns_.load(std::memory_order_relaxed) && !has_news(now)) {
    last_poll_.looked(now);
    return inbox_ != nullptr && inbox_->active() ? rnic::Effort::quick_poll : rnic::Effort::look;
  }
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return rnic::Effort::look;
  completions_.open(sink);
  std::size_t packets = batch(now);
  for (unsigned round = 1; round < kPollRounds && scheduler_.has_work(); ++round)
    packets += batch(monotonic_now());
  finish(kHandOver);
  completions_.close();
  // a batch may take long; the program was there until its end
  last_poll_.looked(packets < kFewPackets ? now : monotonic_now());
  return packets != 0 ? rnic::Effort::useful : rnic::Effort::look;
}

std::size_t Lane::service(bool insist, bool makes_way) {
  const std::size_t packets = serve(insist, makes_way);
  map_segments();
  return packets;
}

std::size_t Lane::serve(bool insist, bool makes_way) {
  std::unique_lock lock(mutex_, std::defer_lock);
  if (insist) {
    lock.lock();
  } else if (!lock.try_lock()) {
    return 0;
  }
  std::uint64_t expirations = 0;
  if (read(timer_fd_, &expirations, sizeof expirations) > 0) armed_ = kNever;
  if (inbox_ != nullptr) inbox_->look_below();
  std::size_t packets = 0;
  for (unsigned round = 0; round < kMaxRounds; ++round) {
    const std::size_t n = batch(monotonic_now());
    packets += n;
    if (n == 0 && !scheduler_.has_work()) break;
    if (program_polls() || makes_way) break;  // and would wait for the lock
  }
  map_requests_ = direct_.take_map_requests();
  finish(program_polls() ? kHandOver : Duration::zero());
  return packets;
}

bool Lane::resolve_pending() {
  if (!peers_.resolve()) return false;
  const std::lock_guard lock(mutex_);
  batch(monotonic_now());
  disarm();
  finish(Duration::zero());
  return true;
}

// Whether the program polled or posted since the present batch began.
bool Lane::program_polls() const { return last_poll_.called_after(clock_.batch_time()); }

void Lane::arm(Duration hand_over) {
  peers_.call_resolver();
  const TimePoint now = clock_.batch_time();
  TimePoint when =
      std::min({deadlines_.earliest(), link_->deadline(), rows_.due(), peers_.due(), delayed_ack_.due()});
  if (hold_.any()) when = std::min(when, now + ReceiveHold::kTryAgain);
  if (scheduler_.has_waiting()) when = std::min(when, now + kRecheckWindows);
  const bool undone = scheduler_.has_work() || unread_ || hold_.more();
  due_ns_.store(ns_of(undone ? now : when), std::memory_order_relaxed);
  if (undone) when = std::min(when, now + hand_over);
  const bool requests = direct_.any_map_requests();
  when = requests ? now : std::min(when, direct_.sweep_due());
  needs_service_.store(requests || direct_.sweep_due() <= now, std::memory_order_relaxed);
  if (when >= armed_) return;
  armed_ = when;
  itimerspec timer{};
  timer.it_value = to_timespec(when);
  timerfd_settime(timer_fd_, TFD_TIMER_ABSTIME, &timer, nullptr);
}

// What the timer was armed for may not be due any more, and would wake a thread for nothing.
void Lane::disarm() {
  armed_ = kNever;
  const itimerspec none{};
  timerfd_settime(timer_fd_, 0, &none, nullptr);
}

// ---- time, threads, life

TimePoint Lane::now() { return monotonic_now(); }

void Lane::quiesce() { const std::lock_guard lock(mutex_); }

void Lane::set_addresses(std::vector<device::GidEntry> addresses) {
  const std::lock_guard lock(mutex_);
  addresses_.set(addresses);
  link_->set_addresses(std::move(addresses));
}

std::size_t Lane::queue_pairs() {
  const std::lock_guard lock(mutex_);
  return qps_.size();
}

void Lane::abandon() {
  abandoned_ = true;
  direct_.abandon();
  peers_.abandon();
  inbox_ = nullptr;
  eager_acks_.abandon();
  delayed_ack_.abandon();
  link_ = std::make_unique<link::NullLink>();
  close(timer_fd_);
  timer_fd_ = -1;
}

}  // namespace softrnic::engine
