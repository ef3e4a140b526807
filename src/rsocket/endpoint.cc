#include "rsocket/endpoint.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>

#include "base/memory_copy.h"

namespace softrnic::rsocket {

Result<ChannelPtr> make_channel() {
  ChannelPtr channel(rdma_create_event_channel());
  if (channel == nullptr || fcntl(channel->fd, F_SETFL, O_NONBLOCK) != 0) return fail_errno();
  return channel;
}

Pages::~Pages() {
  region_.reset();
  if (!bytes_.empty()) munmap(bytes_.data(), bytes_.size());
}

Result<void> Pages::make(ibv_pd* domain, std::size_t size, bool remote) {
  void* pages = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return fail(ENOMEM);
  bytes_ = MutableBytes(static_cast<std::byte*>(pages), size);
  const int access = IBV_ACCESS_LOCAL_WRITE | (remote ? IBV_ACCESS_REMOTE_WRITE : 0);
  region_.reset(ibv_reg_mr(domain, pages, size, access));
  if (region_ == nullptr) return fail_errno();
  return {};
}

Endpoint::~Endpoint() {
  if (queue_pair_made_) rdma_destroy_qp(id_);
}

Result<void> Endpoint::make(rdma_cm_id* id, Sizes& sizes) {
  id_ = id;
  if (auto done = make_queues(sizes); !done) return done;
  if (auto done = make_memory(sizes); !done) return done;
  return post_receives(sizes.receive_queue);
}

Result<void> Endpoint::make_queues(Sizes& sizes) {
  ibv_device_attr device{};
  if (const int error = ibv_query_device(id_->verbs, &device); error != 0) return fail(error);
  const auto most = static_cast<std::uint16_t>(std::min<int>(device.max_qp_wr, kMostQueue));
  sizes.send_queue = std::clamp(sizes.send_queue, std::min(kLeastQueue, most), most);
  sizes.receive_queue = std::clamp(sizes.receive_queue, std::min(kLeastQueue, most), most);
  sizes.receive_buffer = std::max(sizes.receive_buffer & ~1U, 2U);
  by_sends_ = id_->verbs->device->transport_type == IBV_TRANSPORT_IWARP;
  const std::uint32_t requests = (by_sends_ ? 2 : 1) * std::uint32_t{sizes.send_queue};
  if (auto queue = queue_.make(id_->verbs, requests + sizes.receive_queue); !queue) return queue;
  ibv_qp_init_attr wanted{};
  wanted.send_cq = wanted.recv_cq = queue_.get();
  wanted.qp_type = IBV_QPT_RC;
  wanted.cap.max_send_wr = requests;
  wanted.cap.max_recv_wr = sizes.receive_queue;
  wanted.cap.max_send_sge = 2;
  wanted.cap.max_recv_sge = 1;
  wanted.cap.max_inline_data = std::max<std::uint32_t>(sizes.inline_data, kWordBytes);
  if (rdma_create_qp(id_, id_->pd, &wanted) != 0) return fail_errno();
  queue_pair_made_ = true;
  inline_data_ = wanted.cap.max_inline_data;
  sizes.inline_data = static_cast<std::uint16_t>(std::min<std::uint32_t>(inline_data_, 0xffff));
  sizes_ = sizes;
  return {};
}

Result<void> Endpoint::make_memory(const Sizes& sizes) {
  // Behind the ring stand the rows that announce our halves, one for each control message under way.
  if (auto made = send_.make(id_->pd, sizes.send_buffer + kControlMessages * sizeof(Segment), false); !made)
    return made;
  // And behind that of the peer the words of its messages, one for each receive.
  const std::size_t words = by_sends_ ? std::size_t{sizes.receive_queue} * kWordBytes : 0;
  if (auto made = receive_.make(id_->pd, sizes.receive_buffer + words, true); !made) return made;
  return table_.make(id_->pd, kSegmentRows * sizeof(Segment) + sizes.mappings * sizeof(Mapping), true);
}

Offer Endpoint::offer() const {
  Offer offer;
  offer.credits = sizes_.receive_queue;
  offer.mappings = sizes_.mappings;
  offer.table = {table_.address(), table_.rkey(), kSegmentRows};
  offer.buffer = {receive_.address(), receive_.rkey(), sizes_.receive_buffer / 2};
  return offer;
}

void Endpoint::meet(const Offer& peer) {
  peer_ = peer;
  peer_row_ = 1 % peer.table.length;  // its row 0 stands for the segment in our offer
}

Result<void> Endpoint::post_receives(std::uint32_t count) {
  std::array<ibv_recv_wr, 32> requests{};
  std::array<ibv_sge, 32> words;
  while (count > 0) {
    const std::uint32_t now = std::min<std::uint32_t>(count, requests.size());
    for (std::uint32_t i = 0; i < now; ++i) {
      requests[i].wr_id = work_id(Work::receive, receive_slot_);
      requests[i].next = i + 1 < now ? &requests[i + 1] : nullptr;
      words[i] = {receive_.address() + word_at(receive_slot_), kWordBytes, receive_.lkey()};
      requests[i].sg_list = &words[i];
      requests[i].num_sge = by_sends_ ? 1 : 0;
      receive_slot_ = (receive_slot_ + 1) % sizes_.receive_queue;
    }
    ibv_recv_wr* bad = nullptr;
    if (const int error = ibv_post_recv(id_->qp, requests.data(), &bad); error != 0) return fail(error);
    count -= now;
  }
  return {};
}

std::optional<Message> Endpoint::message_in(const ibv_wc& received) const {
  if ((received.wc_flags & IBV_WC_WITH_IMM) != 0) return decode_message(__builtin_bswap32(received.imm_data));
  if (!by_sends_ || received.byte_len != kWordBytes) return std::nullopt;
  std::uint32_t word = 0;
  std::memcpy(&word, &receive_.bytes()[word_at(static_cast<std::uint32_t>(received.wr_id))], sizeof word);
  return decode_message(word);
}

// A SEND does not tell whether a WRITE went before it. Rows that were taken are empty.
bool Endpoint::announces(const ibv_wc& received, std::uint32_t row) const {
  return by_sends_ ? segment_row(row).length > 0 : received.byte_len > 0;
}

unsigned Endpoint::inline_flag(std::uint32_t bytes) const {
  return bytes <= inline_data_ ? unsigned{IBV_SEND_INLINE} : 0U;
}

std::span<ibv_sge> Endpoint::gather(std::array<ibv_sge, 2>& parts, SendRing::Place place) const {
  std::size_t count = 0;
  if (place.first > 0) parts[count++] = {send_.address() + place.at, place.first, send_.lkey()};
  if (place.second > 0) parts[count++] = {send_.address(), place.second, send_.lkey()};
  return {parts.data(), count};
}

/// A WRITE of `parts` to `to`, not sent yet.
ibv_send_wr Endpoint::write_of(std::uint64_t id, std::span<ibv_sge> parts, const Segment& to) const {
  std::uint32_t bytes = 0;
  for (const ibv_sge& part : parts) bytes += part.length;
  ibv_send_wr request{};
  request.wr_id = id;
  request.sg_list = parts.data();
  request.num_sge = static_cast<int>(parts.size());
  request.opcode = IBV_WR_RDMA_WRITE;
  request.send_flags = IBV_SEND_SIGNALED | inline_flag(bytes);
  request.wr.rdma.remote_addr = to.address;
  request.wr.rdma.rkey = to.key;
  return request;
}

Result<void> Endpoint::post_send(ibv_send_wr& request) {
  ibv_send_wr* bad = nullptr;
  const int error = ibv_post_send(id_->qp, &request, &bad);
  if (error != 0) return fail(error);
  return {};
}

Result<void> Endpoint::post_with_send(Message message, ibv_send_wr& request) {
  std::uint32_t word = encode(message);
  ibv_sge part{reinterpret_cast<std::uintptr_t>(&word), kWordBytes, 0};
  ibv_send_wr send{};
  send.wr_id = request.wr_id;
  send.sg_list = &part;
  send.num_sge = 1;
  send.opcode = IBV_WR_SEND;
  send.send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE;
  if (request.num_sge == 0) return post_send(send);
  request.wr_id = work_id(Work::part, 0);
  request.send_flags &= ~unsigned{IBV_SEND_SIGNALED};
  request.next = &send;
  return post_send(request);
}

Result<void> Endpoint::post_with(Message message, ibv_send_wr& request) {
  if (by_sends_) return post_with_send(message, request);
  request.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
  request.imm_data = __builtin_bswap32(encode(message));
  return post_send(request);
}

Result<void> Endpoint::post(Work work, Message message, SendRing::Place place, const Segment& to) {
  std::array<ibv_sge, 2> parts;
  ibv_send_wr request = write_of(work_id(work, place.first + place.second), gather(parts, place), to);
  return post_with(message, request);
}

Result<void> Endpoint::post_write(SendRing::Place place, const Segment& to) {
  std::array<ibv_sge, 2> parts;
  ibv_send_wr request = write_of(work_id(Work::data, place.first + place.second), gather(parts, place), to);
  return post_send(request);
}

Result<void> Endpoint::post_control(Work work, Message message) { return post(work, message, {}, {}); }

Result<void> Endpoint::post_update(const ReceiveRing::Update& update) {
  const Message message{Op::segment, update.credits};
  if (!update.half_at) return post_control(Work::control, message);
  Segment ours{receive_.address() + *update.half_at, receive_.rkey(), sizes_.receive_buffer / 2};
  if (peer_.big_endian) ours = swapped(ours);
  const std::uint32_t at = sizes_.send_buffer + update_slot_ * static_cast<std::uint32_t>(sizeof ours);
  update_slot_ = (update_slot_ + 1) % kControlMessages;
  std::memcpy(&send_.bytes()[at], &ours, sizeof ours);
  const Segment row{peer_.table.address + peer_row_ * sizeof ours, peer_.table.key, sizeof ours};
  peer_row_ = (peer_row_ + 1) % peer_.table.length;
  std::array<ibv_sge, 1> part{{{send_.address() + at, sizeof ours, send_.lkey()}}};
  ibv_send_wr request = write_of(work_id(Work::control, 0), part, row);
  return post_with(message, request);
}

// The peer may write the rows at any moment: one is taken as it is then. All that can come of it is a WRITE
// to an address of the peer's own choice.
Segment Endpoint::segment_row(std::uint32_t row) const {
  Segment segment;
  std::memcpy(&segment, &table_.bytes()[row * sizeof segment], sizeof segment);
  return segment;
}

Segment Endpoint::take_segment_row(std::uint32_t row) const {
  const Segment segment = segment_row(row);
  std::memset(&table_.bytes()[row * sizeof segment], 0, sizeof segment);
  return segment;
}

void Endpoint::put(SendRing::Place place, const void* from) const {
  const auto* const bytes = static_cast<const std::byte*>(from);
  copy_memory(&send_.bytes()[place.at], bytes, place.first);
  if (place.second > 0) copy_memory(send_.bytes().data(), bytes + place.first, place.second);
}

Mapping Endpoint::mapping_row(std::uint32_t row) const {
  Mapping mapping;
  std::memcpy(&mapping, &table_.bytes()[kSegmentRows * sizeof(Segment) + row * sizeof mapping],
              sizeof mapping);
  return mapping;
}

std::optional<Mapping> Endpoint::find_mapping(off_t offset) const {
  const auto wanted = static_cast<std::uint64_t>(offset);
  for (std::uint32_t row = 0; row < sizes_.mappings; ++row) {
    const Mapping mapping = mapping_row(row);
    if (wanted >= mapping.offset && wanted - mapping.offset < mapping.segment.length) return mapping;
  }
  return std::nullopt;
}

}  // namespace softrnic::rsocket
