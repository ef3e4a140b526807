#include "copy/stream.h"

#include <algorithm>

namespace softrnic::copy {
namespace {

// Frames are made in few places, in turn: then they are in the cache still when they leave.
// Within a host they leave at once; a wire is to be full for a round trip, which takes a frame
// for each kFrameTime at 2.6 GB/s.
constexpr std::uint32_t kHotSlots = 2;
constexpr std::uint32_t kLeastOnWire = 4;
constexpr auto kFrameTime = std::chrono::microseconds(100);

std::uint32_t out_slots(const Greeted& peer, std::uint32_t most) {
  if ((peer.capabilities & kBoards) != 0) return kHotSlots;
  return static_cast<std::uint32_t>(
      std::min<std::int64_t>(kLeastOnWire + peer.round_trip / kFrameTime, most));
}

}  // namespace

Result<StreamPtr> Stream::make(ConnectionPtr connection, OwnRing own, const Greeted& peer,
                               std::uint32_t out_slot) {
  StreamPtr made(new Stream(std::move(connection), std::move(own), peer.ring));
  Connection& over = *made->connection_;
  const bool boards = (peer.capabilities & kBoards) != 0;
  auto exchange = boards ? exchange_by_boards(over, made->own_, peer.ring)
                         : exchange_by_messages(over, made->own_, peer.ring);
  if (!exchange) return Unexpected{exchange.error()};
  made->exchange_ = std::move(*exchange);
  made->most_in_flight_ = std::min(peer.ring.slots, kMaxSlots);
  made->out_slots_ = out_slots(peer, made->most_in_flight_);
  made->out_slot_size_ = std::min(peer.ring.slot_size, out_slot);
  made->capabilities_ = peer.capabilities;
  const std::size_t place = kFrameLead + made->out_slot_size_;
  made->out_stride_ = (place + kPage - 1) & ~(kPage - 1);
  auto out = Buffer::make(over.domain(), made->out_slots_ * made->out_stride_);
  if (!out) return Unexpected{out.error()};
  made->out_ = std::move(*out);
  made->out_serials_.assign(made->out_slots_, {});
  return made;
}

void Stream::write_header(MutableBytes at, RecordType type, std::size_t length) {
  encode(RecordHeader{static_cast<std::uint16_t>(type), 0, static_cast<std::uint32_t>(length)}, at);
}

MutableBytes Stream::place_of(std::uint64_t slot) const {
  return out_.bytes().subspan(slot * out_stride_ + kFrameLead, out_slot_size_);
}

Result<void> Stream::acquire() {
  if (acquired_) return {};
  while (sent_ - credited_ >= most_in_flight_ || !connection_->is_done(out_serials_[sent_ % out_slots_]))
    if (const auto waited = wait(Clock::now() + kHeartbeat); !waited) return waited;
  acquired_ = true;
  fill_ = 0;
  return {};
}

Result<MutableBytes> Stream::need(std::size_t size) {
  if (size > out_slot_size_) return fail(Trouble::usage, "a name is too long for the peer");
  if (acquired_ && out_slot_size_ - fill_ < size)
    if (const auto flushed = flush(); !flushed) return Unexpected{flushed.error()};
  if (const auto acquired = acquire(); !acquired) return Unexpected{acquired.error()};
  return place_of(sent_ % out_slots_).subspan(fill_);
}

Result<MutableBytes> Stream::chunk_room(std::size_t wanted) {
  const std::size_t most = std::min<std::size_t>(kChunk, (out_slot_size_ - kChunkHead) & ~std::size_t{4095});
  const std::size_t data = std::min(wanted, most);
  if (data == most && acquired_ && fill_ > 0)  // a full chunk begins its frame, so that its data is aligned
    if (const auto flushed = flush(); !flushed) return Unexpected{flushed.error()};
  const auto room = need(kChunkHead + data);
  if (!room) return room;
  return room->subspan(kChunkHead, data);
}

Result<void> Stream::put_chunk(const Chunk& chunk) {
  const auto room = need(kChunkHead + chunk.length);
  if (!room) return Unexpected{room.error()};
  write_header(*room, RecordType::chunk, kChunkHead - kRecordHeader + chunk.length);
  encode(chunk, room->subspan(kRecordHeader));
  fill_ += kChunkHead + chunk.length;
  return out_slot_size_ - fill_ < kChunkHead ? flush() : Result<void>{};
}

Result<void> Stream::flush() {
  if (!acquired_ || fill_ == 0) return {};
  const std::uint64_t slot = sent_ % out_slots_;
  const Bytes frame = place_of(slot).first(fill_);
  const auto posted =
      exchange_->put_frame(frame, out_.lkey(), static_cast<std::uint32_t>(sent_ % peer_.slots));
  if (!posted) return Unexpected{posted.error()};
  out_serials_[slot] = *posted;
  ++sent_;
  acquired_ = false;
  fill_ = 0;
  spoke_ = Clock::now();
  return tick();
}

Bytes Stream::frame_at(std::uint64_t number, std::uint32_t length) const {
  return own_.frame(static_cast<std::uint32_t>(number % own_.ring.slots), length);
}

Result<void> Stream::took_credit(std::uint64_t taken) {
  if (taken < credited_ || taken > sent_)
    return fail(Trouble::protocol, "the peer gave credit for frames that were not sent");
  credited_ = taken;
  return {};
}

Result<void> Stream::took_frame(const News& news) {
  if (news.slot != received_ % own_.ring.slots || news.length > own_.ring.slot_size ||
      received_ - taken_ >= own_.ring.slots)
    return fail(Trouble::protocol, "the peer sent a frame out of its turn");
  const Bytes frame = frame_at(received_++, news.length);
  if (!consumer_) {
    frames_.push_back(frame);
    return {};
  }
  const auto consumed = consumer_(frame);
  ++taken_;
  return consumed ? give_credit() : consumed;
}

Result<void> Stream::take_news() {
  for (;;) {
    const auto news = exchange_->take();
    if (!news) return Unexpected{news.error()};
    if (!*news) return {};
    heard_ = Clock::now();
    Result<void> took = {};
    if ((*news)->kind == News::Kind::frame) took = took_frame(**news);
    if ((*news)->kind == News::Kind::credit) took = took_credit((*news)->taken);
    if (!took) return took;
  }
}

Result<void> Stream::give_credit() {
  if (taken_ - returned_ < std::max(1U, own_.ring.slots / 4)) return {};
  returned_ = taken_;
  spoke_ = Clock::now();
  return exchange_->give_credit(taken_);
}

Result<void> Stream::wait(Deadline deadline) {
  const auto waited = exchange_->wait(std::min({deadline, spoke_ + kHeartbeat, heard_ + kSilence}));
  if (!waited) return waited;
  if (const auto took = take_news(); !took) return took;
  const auto now = Clock::now();
  if (now - heard_ >= kSilence) return fail(Trouble::broken, "the peer is silent", ETIMEDOUT);
  if (now - spoke_ < kHeartbeat) return {};
  spoke_ = now;
  return exchange_->greet(returned_ = taken_);
}

Result<void> Stream::tick() {
  const auto now = Clock::now();
  if (now - ticked_ < std::chrono::milliseconds(200)) return {};
  ticked_ = now;
  if (const auto looked = connection_->look_around(); !looked) return looked;
  return wait(now);
}

Result<void> Stream::settle() {
  if (const auto flushed = flush(); !flushed) return flushed;
  while (!connection_->all_done()) {
    const auto waited = wait(Clock::now() + kHeartbeat);
    if (!waited) return all_delivered() ? Result<void>{} : waited;  // a peer that has all may be gone
  }
  return {};
}

bool Stream::all_delivered() const {
  return std::all_of(out_serials_.begin(), out_serials_.end(),
                     [this](const Serial& serial) { return connection_->is_done(serial); });
}

Result<Bytes> Stream::next() {
  if (const auto ticked = tick(); !ticked) return Unexpected{ticked.error()};
  if (frames_.empty())
    if (const auto took = take_news(); !took) return Unexpected{took.error()};
  while (frames_.empty())
    if (const auto waited = wait(Clock::now() + kHeartbeat); !waited) return Unexpected{waited.error()};
  return frames_.front();
}

void Stream::release() {
  frames_.pop_front();
  ++taken_;
  static_cast<void>(give_credit());  // a broken connection shows at the next step
}

}  // namespace softrnic::copy
