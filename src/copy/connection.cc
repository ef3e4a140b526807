#include "copy/connection.h"

#include <poll.h>

#include <algorithm>

namespace softrnic::copy {
namespace {

constexpr std::uint32_t kMessages = kMaxSlots + 8;
constexpr int kBatch = 16;
/// More than a ring of frames with their credit and signs of life: a peer that keeps to the protocol has
/// fewer under way.
constexpr std::size_t kMostArrivals = 1024;

int milliseconds_until(Deadline deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000));
}

}  // namespace

Result<void> Connection::prepare() {
  ibv_context* verbs = id_->verbs;
  domain_.reset(ibv_alloc_pd(verbs));
  if (domain_ == nullptr) return fail_errno("ibv_alloc_pd");
  completions_.reset(ibv_create_comp_channel(verbs));
  if (completions_ == nullptr) return fail_errno("ibv_create_comp_channel");
  queue_.reset(ibv_create_cq(verbs, static_cast<int>(QueuePair::kEntries), nullptr, completions_.get(), 0));
  if (queue_ == nullptr) return fail_errno("ibv_create_cq");
  ibv_qp_init_attr wanted = QueuePair::wanted(queue_.get());
  if (rdma_create_qp(id_.get(), domain_.get(), &wanted) != 0) return fail_errno("rdma_create_qp");
  auto receives = Buffer::make(domain_.get(), QueuePair::kReceives * kMaxMessage);
  if (!receives) return Unexpected{receives.error()};
  receives_ = std::move(*receives);
  auto messages = Buffer::make(domain_.get(), kMessages * kMaxMessage);
  if (!messages) return Unexpected{messages.error()};
  messages_ = std::move(*messages);
  message_serials_.assign(kMessages, {});
  return queue_pairs_.emplace_back(0, id_->qp, &receives_).post_all_receives();
}

bool Connection::all_done() const {
  return std::all_of(queue_pairs_.begin(), queue_pairs_.end(),
                     [](const QueuePair& one) { return one.all_done(); });
}

Result<Serial> Connection::post(std::uint32_t queue_pair, ibv_send_wr& wr) {
  QueuePair& over = queue_pairs_[queue_pair];
  while (over.is_full()) {  // the bound of what callers have in flight makes this rare
    if (const auto stepped = next_completion(Clock::now() + std::chrono::seconds(60)); !stepped)
      return Unexpected{stepped.error()};
  }
  auto posted = over.post(wr);
  return !posted && failure_ ? Unexpected{*failure_} : posted;
}

Result<Serial> Connection::send(const Message& message, std::size_t padding) {
  const std::uint32_t slot = next_message_++ % kMessages;
  while (!is_done(message_serials_[slot]))
    if (const auto stepped = next_completion(Clock::now() + std::chrono::seconds(60)); !stepped)
      return Unexpected{stepped.error()};
  std::byte* at = messages_.bytes().data() + slot * kMaxMessage;
  std::memcpy(at, message.bytes.data(), message.size);
  const std::size_t length = std::min(message.size + padding, kMaxMessage);
  ibv_sge sge{messages_.address() + slot * kMaxMessage, static_cast<std::uint32_t>(length), messages_.lkey()};
  ibv_send_wr wr{};
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.opcode = IBV_WR_SEND;
  const auto serial = post(0, wr);
  if (serial) message_serials_[slot] = *serial;
  return serial;
}

Result<Serial> Connection::post_one_sided(std::uint32_t queue_pair, ibv_send_wr wr, Bytes local,
                                          std::uint32_t lkey, const RemotePlace& remote) {
  ibv_sge sge{reinterpret_cast<std::uintptr_t>(local.data()), static_cast<std::uint32_t>(local.size()), lkey};
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.wr.rdma.remote_addr = remote.address;
  wr.wr.rdma.rkey = remote.rkey;
  return post(queue_pair, wr);
}

Result<Serial> Connection::write(std::uint32_t queue_pair, Bytes from, std::uint32_t lkey,
                                 const RemotePlace& to) {
  ibv_send_wr wr{};
  wr.opcode = IBV_WR_RDMA_WRITE;
  return post_one_sided(queue_pair, wr, from, lkey, to);
}

Result<Serial> Connection::write_word(std::uint32_t queue_pair, std::uint64_t value, const RemotePlace& to) {
  const std::uint64_t word = htole64(value);
  ibv_send_wr wr{};
  wr.opcode = IBV_WR_RDMA_WRITE;
  wr.send_flags = IBV_SEND_INLINE;
  return post_one_sided(queue_pair, wr, std::as_bytes(std::span(&word, 1)), 0, to);
}

Result<Serial> Connection::write_frame(std::uint32_t queue_pair, Bytes from, std::uint32_t lkey,
                                       const RemotePlace& to, std::uint32_t slot) {
  ibv_send_wr wr{};
  wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
  wr.imm_data = htobe32(slot);
  return post_one_sided(queue_pair, wr, from, lkey, to);
}

Result<Serial> Connection::read(MutableBytes into, std::uint32_t lkey, const RemotePlace& from) {
  ibv_send_wr wr{};
  wr.opcode = IBV_WR_RDMA_READ;
  return post_one_sided(0, wr, into, lkey, from);
}

void Connection::broke(std::string text) {
  if (!failure_) failure_ = Error{Trouble::broken, 0, std::move(text)};
}

void Connection::received(const ibv_wc& wc) {
  if (arrivals_.size() == kMostArrivals) return broke("the peer sends more than it may without an answer");
  Arrival arrival;
  arrival.queue_pair = QueuePair::index_of(wc);
  arrival.is_frame = wc.opcode == IBV_WC_RECV_RDMA_WITH_IMM;
  arrival.length = wc.byte_len;
  QueuePair& over = queue_pairs_[arrival.queue_pair];
  if (arrival.is_frame) {
    arrival.slot = be32toh(wc.imm_data);
  } else {
    const Bytes message = over.received(wc);
    arrival.message.size = message.size();
    if (!message.empty()) std::memcpy(arrival.message.bytes.data(), message.data(), message.size());
  }
  arrivals_.push_back(arrival);
  if (const auto posted = over.post_receive(wc); !posted) broke(posted.error().text);
}

void Connection::complete(const ibv_wc& wc) {
  if (wc.status != IBV_WC_SUCCESS) {
    broke(wc.status == IBV_WC_WR_FLUSH_ERR
              ? "the connection was closed"
              : std::string("the connection broke: ") + ibv_wc_status_str(wc.status));
  } else if ((wc.opcode & IBV_WC_RECV) != 0) {
    received(wc);
  } else {
    queue_pairs_[QueuePair::index_of(wc)].completed_one();
  }
}

bool Connection::drain() {
  std::array<ibv_wc, kBatch> batch;
  const int count = ibv_poll_cq(queue_.get(), kBatch, batch.data());
  for (int i = 0; i < count; ++i) complete(batch[static_cast<std::size_t>(i)]);
  if (count < 0) broke("ibv_poll_cq failed");
  return count != 0;
}

Result<void> Connection::step(Deadline deadline) {
  if (drain() || !arrivals_.empty()) return {};
  return next_completion(deadline);
}

Result<void> Connection::next_completion(Deadline deadline) {
  const Clock::time_point spin_end = spin_ > Clock::duration::zero() ? Clock::now() + spin_ : Deadline{};
  for (;;) {
    if (drain()) return {};
    if (failure_) return Unexpected{*failure_};
    if (peer_left_) return fail(Trouble::broken, "the peer closed the connection");
    if (spin_ > Clock::duration::zero() && Clock::now() < std::min(spin_end, deadline)) continue;
    if (ibv_req_notify_cq(queue_.get(), 0) != 0) return fail(Trouble::broken, "ibv_req_notify_cq failed");
    if (drain()) return {};
    const auto woken = wait_for_event(deadline);
    if (!woken) return Unexpected{woken.error()};
    if (!*woken) return {};
  }
}

/// False at the deadline.
Result<bool> Connection::wait_for_event(Deadline deadline) {
  std::array<pollfd, 3> waiting{
      {{completions_->fd, POLLIN, 0}, {events_->fd, POLLIN, 0}, {stop_fd_, POLLIN, 0}}};
  const int ready = ::poll(waiting.data(), waiting.size(), milliseconds_until(deadline));
  if (ready < 0 && errno != EINTR) return fail_errno("poll");
  if (ready <= 0) return Clock::now() < deadline;
  if (waiting[2].revents != 0) return fail(Trouble::interrupted, "interrupted");
  if (waiting[0].revents != 0) {
    ibv_cq* queue = nullptr;
    void* context = nullptr;
    if (ibv_get_cq_event(completions_.get(), &queue, &context) == 0) ibv_ack_cq_events(queue, 1);
  }
  if (waiting[1].revents != 0) look_at_events();
  return true;
}

Result<void> Connection::look_around() {
  const auto woken = wait_for_event(Clock::now());
  return woken ? Result<void>{} : Unexpected{woken.error()};
}

void Connection::look_at_events() {
  rdma_cm_event* event = nullptr;
  if (rdma_get_cm_event(events_.get(), &event) != 0) return;
  const EventPtr owner(event);
  if (event->event == RDMA_CM_EVENT_DISCONNECTED || event->event == RDMA_CM_EVENT_DEVICE_REMOVAL)
    peer_left_ = true;
}

std::optional<Arrival> Connection::take() {
  if (arrivals_.empty()) return std::nullopt;
  Arrival arrival = arrivals_.front();
  arrivals_.pop_front();
  return arrival;
}

void Connection::linger(Deadline deadline) {
  while (!(peer_left_ || failure_) && Clock::now() < deadline) {
    arrivals_.clear();
    if (!step(deadline)) break;
  }
}

}  // namespace softrnic::copy
