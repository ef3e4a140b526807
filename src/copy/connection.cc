#include "copy/connection.h"

#include <poll.h>

#include <algorithm>

namespace softrnic::copy {
namespace {

constexpr std::uint32_t kRepost =
    16;  // receives that are posted again at once: a post may have to wait for the adapter
constexpr std::uint32_t kReceives = 2 * kMaxSlots + 8 + kRepost;  // every frame, and a credit for every frame
constexpr std::uint32_t kSends = 2 * kMaxSlots + 8;
constexpr std::uint32_t kMessages = kMaxSlots + 8;
constexpr int kBatch = 16;

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
  queue_.reset(ibv_create_cq(verbs, static_cast<int>(kReceives + kSends), nullptr, completions_.get(), 0));
  if (queue_ == nullptr) return fail_errno("ibv_create_cq");
  ibv_qp_init_attr wanted{};
  wanted.qp_type = IBV_QPT_RC;
  wanted.send_cq = wanted.recv_cq = queue_.get();
  wanted.cap.max_send_wr = kSends;
  wanted.cap.max_recv_wr = kReceives;
  wanted.cap.max_send_sge = wanted.cap.max_recv_sge = 1;
  wanted.sq_sig_all = 1;
  if (rdma_create_qp(id_.get(), domain_.get(), &wanted) != 0) return fail_errno("rdma_create_qp");
  auto receives = Buffer::make(domain_.get(), kReceives * kMaxMessage);
  if (!receives) return Unexpected{receives.error()};
  receives_ = std::move(*receives);
  auto messages = Buffer::make(domain_.get(), kMessages * kMaxMessage);
  if (!messages) return Unexpected{messages.error()};
  messages_ = std::move(*messages);
  message_serials_.assign(kMessages, 0);
  for (std::uint32_t i = 0; i < kReceives; ++i)
    if (const auto posted = post_receive(i); !posted) return posted;
  return {};
}

/// Once kRepost of them have come together.
Result<void> Connection::post_receive(std::uint32_t index) {
  unposted_.push_back(index);
  if (unposted_.size() < kRepost) return {};
  std::array<ibv_sge, kRepost> sges;
  std::array<ibv_recv_wr, kRepost> wrs{};
  for (std::size_t i = 0; i < kRepost; ++i) {
    sges[i] = {receives_.address() + unposted_[i] * kMaxMessage, kMaxMessage, receives_.lkey()};
    wrs[i].wr_id = unposted_[i];
    wrs[i].sg_list = &sges[i];
    wrs[i].num_sge = 1;
    wrs[i].next = i + 1 < kRepost ? &wrs[i + 1] : nullptr;
  }
  unposted_.clear();
  ibv_recv_wr* bad = nullptr;
  if (const int error = ibv_post_recv(id_->qp, wrs.data(), &bad)) return fail_errno("ibv_post_recv", error);
  return {};
}

Result<Connection::Serial> Connection::post(ibv_send_wr& wr) {
  while (posted_ - done_ >= kSends) {  // the bound of what callers have in flight makes this rare
    if (const auto stepped = step(Clock::now() + std::chrono::seconds(60)); !stepped)
      return Unexpected{stepped.error()};
  }
  ibv_send_wr* bad = nullptr;
  if (const int error = ibv_post_send(id_->qp, &wr, &bad)) {
    if (failure_) return Unexpected{*failure_};
    return fail_errno("ibv_post_send", error, Trouble::broken);
  }
  return ++posted_;
}

Result<Connection::Serial> Connection::send(const Message& message, std::size_t padding) {
  const std::uint32_t slot = next_message_++ % kMessages;
  while (!is_done(message_serials_[slot]))
    if (const auto stepped = step(Clock::now() + std::chrono::seconds(60)); !stepped)
      return Unexpected{stepped.error()};
  std::byte* at = messages_.bytes().data() + slot * kMaxMessage;
  std::memcpy(at, message.bytes.data(), message.size);
  const std::size_t length = std::min(message.size + padding, kMaxMessage);
  ibv_sge sge{messages_.address() + slot * kMaxMessage, static_cast<std::uint32_t>(length), messages_.lkey()};
  ibv_send_wr wr{};
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.opcode = IBV_WR_SEND;
  const auto serial = post(wr);
  if (serial) message_serials_[slot] = *serial;
  return serial;
}

Result<Connection::Serial> Connection::post_one_sided(ibv_wr_opcode opcode, Bytes local, std::uint32_t lkey,
                                                      const RemotePlace& remote, std::uint32_t immediate) {
  ibv_sge sge{reinterpret_cast<std::uintptr_t>(local.data()), static_cast<std::uint32_t>(local.size()), lkey};
  ibv_send_wr wr{};
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.opcode = opcode;
  wr.imm_data = htobe32(immediate);
  wr.wr.rdma.remote_addr = remote.address;
  wr.wr.rdma.rkey = remote.rkey;
  return post(wr);
}

Result<Connection::Serial> Connection::write(Bytes from, std::uint32_t lkey, const RemotePlace& to) {
  return post_one_sided(IBV_WR_RDMA_WRITE, from, lkey, to, 0);
}

Result<Connection::Serial> Connection::write_frame(Bytes from, std::uint32_t lkey, const RemotePlace& to,
                                                   std::uint32_t slot) {
  return post_one_sided(IBV_WR_RDMA_WRITE_WITH_IMM, from, lkey, to, slot);
}

Result<Connection::Serial> Connection::read(MutableBytes into, std::uint32_t lkey, const RemotePlace& from) {
  return post_one_sided(IBV_WR_RDMA_READ, into, lkey, from, 0);
}

void Connection::broke(std::string text) {
  if (!failure_) failure_ = Error{Trouble::broken, 0, std::move(text)};
}

void Connection::received(const ibv_wc& wc) {
  const auto index = static_cast<std::uint32_t>(wc.wr_id);
  Arrival arrival;
  arrival.is_frame = wc.opcode == IBV_WC_RECV_RDMA_WITH_IMM;
  arrival.length = wc.byte_len;
  if (arrival.is_frame) {
    arrival.slot = be32toh(wc.imm_data);
  } else {
    arrival.message.size = std::min<std::size_t>(wc.byte_len, kMaxMessage);
    std::memcpy(arrival.message.bytes.data(), receives_.bytes().data() + index * kMaxMessage,
                arrival.message.size);
  }
  arrivals_.push_back(arrival);
  if (const auto posted = post_receive(index); !posted) broke(posted.error().text);
}

void Connection::complete(const ibv_wc& wc) {
  if (wc.status != IBV_WC_SUCCESS) {
    broke(wc.status == IBV_WC_WR_FLUSH_ERR
              ? "the connection was closed"
              : std::string("the connection broke: ") + ibv_wc_status_str(wc.status));
  } else if ((wc.opcode & IBV_WC_RECV) != 0) {
    received(wc);
  } else {
    ++done_;
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
  const Clock::time_point spin_end = spin_ > Clock::duration::zero() ? Clock::now() + spin_ : Deadline{};
  for (;;) {
    if (drain() || !arrivals_.empty()) return {};
    if (failure_) return Unexpected{*failure_};
    if (peer_left_) return fail(Trouble::broken, "the peer closed the connection");
    if (spin_ > Clock::duration::zero() && Clock::now() < std::min(spin_end, deadline)) continue;
    if (ibv_req_notify_cq(queue_.get(), 0) != 0) return fail(Trouble::broken, "ibv_req_notify_cq failed");
    if (drain()) return {};
    const auto woken = doze(deadline);
    if (!woken) return Unexpected{woken.error()};
    if (!*woken) return {};
  }
}

/// False at the deadline.
Result<bool> Connection::doze(Deadline deadline) {
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
  const auto woken = doze(Clock::now());
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
