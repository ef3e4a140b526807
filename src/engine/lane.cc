#include "engine/lane.h"

#include <sys/socket.h>

#include <algorithm>
#include <new>
#include <utility>

#include "base/attempt.h"
#include "base/clock.h"
#include "base/hot_path.h"
#include "base/reason_id.h"
#include "engine/lane_timetable.h"
#include "link/null_link.h"
#include "rnic/completion_queue.h"
#include "rnic/context.h"

namespace softrnic::engine {
namespace {

using namespace std::chrono_literals;

constexpr unsigned kMaxRounds = 16;        ///< rounds a call may stay before the engine thread takes over
constexpr unsigned kPollRounds = 4;        ///< the same for a poll: a whole window of small packets
constexpr std::uint32_t kQuickPolls = 16;  ///< polls that look at nothing but rings, and then one that does
constexpr std::size_t kFewPackets = 8;     ///< take about a microsecond
constexpr Duration kHandOver = 50us;       ///< a program that polls goes on before the engine thread is woken
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
           control::PageWriter& page, samehost::DirectShare* share, UniqueFd doorbell,
           ResolvePeer resolve_peer)
    : number_(number),
      link_(std::move(link)),
      qps_(number, first_index, QpnOrder(random_key())),
      credit_(number, receive_buffer_of(link_->readable_fd())),
      peers_(number, {mutex_, clock_, paths_}, doorbell ? share : nullptr, std::move(resolve_peer)),
      eager_acks_(peers_.acks()),
      hold_(std::max<std::size_t>(receive_buffer_of(link_->readable_fd()), kLeastHeld), addresses_),
      rows_(page, number) {
  link_ = peers_.put_rings_before(std::move(link_), std::move(doorbell), *this);
  rings_ = peers_.rings();
}

// ---- queue pairs

Expected<Qpn, Failure> Lane::attach(rnic::QueuePair& qp) {
  Failure failure;
  if (abandoned_) {
    failure = refuse(EIO, ReasonId::forked_child);
  } else {
    reserve(qps_.size() + 1);  // first: a queue pair that an exception destroys must not have a number
    const auto port = use_port(qp);
    const auto qpn = port ? qps_.insert(qp) : std::nullopt;
    if (qpn) {
      rows_.take_row(*qps_.find(*qpn));
      await_packets();
      return *qpn;
    }
    failure = port ? refuse(ENOMEM, ReasonId::out_of_qpns, kMaxQps) : port.error();
    if (port) leave_port(qp);
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
  timers_.bring_forward(link_->deadline());
  deadlines_.remove(qp);
  peers_.withdraw(qp.qpn());
  if (QpSlot* slot = qps_.find(qp.qpn())) {
    eager_acks_.forget(*slot);
    rows_.give_back_row(*slot);
  }
  qps_.erase(qp.qpn());
  await_packets();
  leave_port(qp);
}

// A link that is full tells the network in the next batch.
bool Lane::join(rnic::QueuePair& qp, const wire::Gid& group) {
  const bool joined = groups_.join(*link_, qp, group, qp.context().info()->interface_index);
  timers_.bring_forward(link_->deadline());
  return joined;
}

bool Lane::leave(rnic::QueuePair& qp, const wire::Gid& group) {
  const bool left = groups_.leave(*link_, qp, group);
  timers_.bring_forward(link_->deadline());
  return left;
}

void Lane::touch(rnic::QueuePair& qp) { scheduler_.touch(qp); }

void Lane::touch(QpSlot* slot) {
  if (slot != nullptr) touch(*slot->qp);
}

// ---- batches

std::size_t Lane::batch(TimePoint now) {
  clock_.begin(now);
  if (hold_.any()) look_after_held();
  const bool streams = streams_due(now);  // which the link's look puts off
  std::size_t packets = receive_packets();
  attempt([&] { packets += receive_frames(); });
  if (streams) attempt([&] { packets += receive_streams(); });
  acknowledge_eager();
  take_acks();
  Timetable::run_due<Timetable::Who::batch_step, Timetable::Who::poll_step>(*this);
  send();
  publish();
  return packets;
}

// ---- who works here

// A post sends, and that is all it does as a rule. Where it has much to send, batches in between let the ACKs
// in, or what another queue pair is sent. So does one now and then among many posts that are sent at once:
// the engine thread would have to wait for the lock between them. False: no batch follows.
bool Lane::send_before_batch(const Work& done, TimePoint now) {
  const bool undone = send();
  const bool overdue = done.rounds == 0 && last_poll_.age(now).since_look > PollModeration::kNeglected / 2;
  if ((!undone && !overdue) || done.rounds >= kMaxRounds) return false;
  publish();
  return true;
}

bool Lane::may_stay(Caller caller, const Work& done) const {
  switch (caller) {
    case Caller::poll:
      return done.rounds == 0 || (done.rounds < kPollRounds && can_send());
    case Caller::flush:
      return done.rounds == 0 || (done.rounds < kMaxRounds && done.last != 0);
    case Caller::engine_thread:  // a program that polls would wait for the lock
      return done.rounds == 0 ||
             (done.rounds < kMaxRounds && !program_polls() && (done.last != 0 || can_send()));
    case Caller::post:
    case Caller::engine_thread_in_passing:
    case Caller::resolver:
      break;
  }
  return done.rounds == 0;
}

SOFTRNIC_OUT_OF_LINE Lane::Work Lane::do_work(Caller caller, TimePoint now) {
  Work done;
  while (caller == Caller::post ? send_before_batch(done, now) : may_stay(caller, done)) {
    // a post's `now` is from before it sent
    const bool fresh = done.rounds == 0 && caller != Caller::post;
    done.last = batch(fresh ? now : monotonic_now());
    done.packets += done.last;
    ++done.rounds;
  }
  const bool by_thread = caller == Caller::engine_thread || caller == Caller::engine_thread_in_passing;
  if (by_thread) peers_.take_map_requests(clock_.batch_time());
  const bool program = caller == Caller::post || caller == Caller::poll || (by_thread && program_polls());
  publish();
  Timetable::run_due<Timetable::Who::end_step>(*this);
  clock_.end();
  arm(program ? kHandOver : Duration::zero());
  return done;
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
  if (do_work(Caller::post, now).rounds != 0) last_poll_.looked(monotonic_now());
}

void Lane::take_arrived() { do_work(Caller::flush, monotonic_now()); }

// A look at the clock takes longer than one at the rings: while those are in use, most polls do without.
bool Lane::quick_poll(std::uint32_t polls) const {
  if (rings_ == nullptr || !rings_->activity().recent() || rings_->inbound().have_packet()) return true;
  return polls % kQuickPolls == 0;
}

bool Lane::has_news(TimePoint now) {
  const bool streams = streams_due(now);  // which the link's look puts off
  if (eager_acks_.have_come() || packet_has_come(now) || ports_.readable()) return true;
  if (!streams || !streams_.readable()) return false;
  if (rings_ != nullptr) rings_->activity().poll_below_next();
  return true;
}

rnic::Effort Lane::progress(rnic::CompletionSink& sink) {
  const std::uint32_t polls = last_poll_.polled();
  if (poll_eager(sink, polls)) return rnic::Effort::useful;
  if (!quick_poll(polls)) return rnic::Effort::quick_poll;
  const TimePoint now = monotonic_now();
  last_poll_.called(now);
  // Polling for nothing must not keep others (posts of other threads, the engine thread) from the lock.
  if (!timers_.batch_is_due(now) && !has_news(now)) {
    last_poll_.looked(now);
    return rings_ != nullptr && rings_->activity().recent() ? rnic::Effort::quick_poll : rnic::Effort::look;
  }
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return rnic::Effort::look;
  completions_.open(sink);
  const Work done = do_work(Caller::poll, now);
  completions_.close();
  // a batch may take long; the program was there until its end
  last_poll_.looked(done.packets < kFewPackets ? now : monotonic_now());
  return done.packets != 0 ? rnic::Effort::useful : rnic::Effort::look;
}

std::size_t Lane::service(bool insist, bool makes_way) {
  std::size_t packets = 0;
  {
    std::unique_lock lock(mutex_, std::defer_lock);
    if (insist) lock.lock();
    if (insist || lock.try_lock()) {
      timers_.take_expiration();
      packet_looks_.look_next();
      if (rings_ != nullptr) rings_->activity().poll_below_next();
      const Caller caller = makes_way ? Caller::engine_thread_in_passing : Caller::engine_thread;
      packets = do_work(caller, monotonic_now()).packets;
    }
  }
  peers_.map();
  return packets;
}

bool Lane::resolve_pending() {
  if (!peers_.resolve()) return false;
  const std::lock_guard lock(mutex_);
  timers_.disarm();
  do_work(Caller::resolver, monotonic_now());
  return true;
}

// Whether the program polled or posted since the present batch began.
bool Lane::program_polls() const { return last_poll_.called_after(clock_.batch_time()); }

void Lane::arm(Duration hand_over) {
  using Who = Timetable::Who;
  peers_.call_resolver();
  timers_.arm({.now = clock_.batch_time(),
               .batch = Timetable::next<Who::batch_step, Who::end_step, Who::every_batch>(*this),
               .poll = Timetable::next<Who::poll_step>(*this),
               .undone = can_send() || unread_ || hold_.more(),
               .hand_over = hand_over,
               .thread = Timetable::next<Who::engine_thread>(*this)});
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
  return qps_.size() + work_queues_;
}

void Lane::abandon() {
  abandoned_ = true;
  peers_.abandon();
  rings_ = nullptr;
  eager_acks_.abandon();
  delayed_ack_.abandon();
  event_looks_.clear();
  link_ = std::make_unique<link::NullLink>();
  ports_.abandon();
  streams_.abandon();
  timers_.abandon();
}

}  // namespace softrnic::engine
