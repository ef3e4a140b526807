#include "transport/iwarp/mpa_sender.h"

#include <algorithm>

#include "base/memory_copy.h"
#include "wire/crc32c.h"

namespace softrnic::iwarp {
namespace {

using wire::kFpduCrcBytes;
using wire::kFpduHeaderBytes;
using wire::kMarkerBytes;
using wire::kMarkerInterval;

/// Pad and CRC of FPDUs without one. A receiver looks at neither.
constexpr std::array<std::byte, 3 + kFpduCrcBytes> kZeros{};

/// So that the pad is empty, and a marker's 16 bits reach from the end of an FPDU to its beginning.
constexpr std::size_t kLongestUlpdu = 0xfffe;
constexpr std::size_t kLongestMarkedUlpdu = 0xfffe - (0x10000 / kMarkerInterval + 1) * kMarkerBytes;

}  // namespace

MpaSender::MpaSender(const Options& options, SegmentSource& source)
    : options_(options), source_(source), ring_(std::make_unique_for_overwrite<Pending[]>(kDepth)) {
  if (copies()) buffer_ = std::make_unique_for_overwrite<std::byte[]>(kBufferBytes);
}

// Some bytes of payload fit beside the longest header, whatever a path's MTU is said to be.
void MpaSender::set_max_ulpdu(std::size_t bytes) {
  constexpr std::size_t kLeast = wire::kMaxDdpBytes + wire::kMaxRdmapBodyBytes + 8;
  max_ulpdu_ = std::clamp(bytes, kLeast, options_.markers ? kLongestMarkedUlpdu : kLongestUlpdu);
}

bool MpaSender::make_next() {
  if (tail_ - head_ == kDepth) return false;
  Pending& next = at(tail_);
  next.segment.last = false;
  next.segment.index = next.segment.offset = 0;
  next.segment.payload = 0;
  if (!source_.next_segment(next.segment, max_ulpdu_)) return false;
  store_be16(next.segment.head.data(), static_cast<std::uint16_t>(next.segment.ulpdu()));
  next.bytes = static_cast<std::uint32_t>(wire::fpdu_bytes(next.segment.ulpdu()));
  ++tail_;
  return true;
}

std::size_t MpaSender::gather(std::span<Bytes> out) {
  if (broken_ || out.size() < kLeastPieces) return 0;
  if (!copies()) return gather_in_place(out);
  if (buffer_sent_ == buffered_) fill_buffer();
  if (buffer_sent_ == buffered_) {
    broken_ = payload_gone_;
    return 0;
  }
  out[0] = Bytes(&buffer_[buffer_sent_], buffered_ - buffer_sent_);
  return 1;
}

std::size_t MpaSender::gather_in_place(std::span<Bytes> out) {
  std::size_t count = 0;
  if (!detached_.empty()) out[count++] = detached_;
  for (std::uint32_t index = head_; out.size() - count >= kLeastPieces; ++index) {
    if (index == tail_ && !make_next()) break;
    if (!add(at(index), index == head_ ? front_sent_ : 0, out, count)) break;
  }
  broken_ = broken_ && count == 0;  // what is before it may go
  return count;
}

bool MpaSender::add(const Pending& pending, std::size_t skip, std::span<Bytes> out, std::size_t& count) {
  const TxSegment& segment = pending.segment;
  const std::size_t before = count;
  if (skip < segment.head_bytes) out[count++] = Bytes(segment.head).first(segment.head_bytes).subspan(skip);
  skip -= std::min<std::size_t>(skip, segment.head_bytes);
  bool goes_on = true;
  if (skip < segment.payload) {
    const auto pieces = source_.payload(segment, skip, out.subspan(count, out.size() - count - 1));
    if (!pieces) {
      count = before;
      broken_ = true;
      return false;
    }
    for (std::size_t i = 0; i < pieces->count; ++i) skip += out[count++].size();
    if (skip < segment.payload) return false;
    goes_on = !pieces->passing;
  }
  skip -= segment.payload;
  const std::size_t trailer = pending.bytes - segment.head_bytes - segment.payload;
  out[count++] = Bytes(kZeros).first(trailer - skip);
  return goes_on;
}

// What lies in the buffer is a copy already.
void MpaSender::detach() {
  if (copies()) {
    broken_ = payload_gone_ = false;
    return;
  }
  if (detached_.empty() && front_sent_ > 0) {
    std::array<Bytes, 8> out;
    for (std::size_t count = 0, skip = front_sent_; skip < at(head_).bytes; count = 0) {
      add(at(head_), skip, out, count);
      if (broken_) return;
      for (const Bytes piece : std::span(out).first(count)) {
        detached_.insert(detached_.end(), piece.begin(), piece.end());
        skip += piece.size();
      }
    }
  }
  front_sent_ = 0;
  tail_ = head_;
  broken_ = false;
}

void MpaSender::sent(std::size_t count) {
  if (!detached_.empty()) {
    const std::size_t piece = std::min(count, detached_.size());
    detached_.erase(detached_.begin(), detached_.begin() + static_cast<std::ptrdiff_t>(piece));
    count -= piece;
  }
  buffer_sent_ += copies() ? count : 0;
  while (count > 0 && head_ != tail_) {
    Pending& front = at(head_);
    const std::size_t piece = std::min<std::size_t>(count, front.bytes - front_sent_);
    count -= piece;
    front_sent_ += static_cast<std::uint32_t>(piece);
    if (front_sent_ < front.bytes) return;
    front_sent_ = 0;
    ++head_;
    source_.segment_sent(front.segment);
  }
}

void MpaSender::fill_buffer() {
  buffered_ = buffer_sent_ = 0;
  constexpr std::size_t kMost = wire::kMaxFpduBytes + (0x10000 / kMarkerInterval + 2) * kMarkerBytes;
  while (!payload_gone_ && kBufferBytes - buffered_ >= kMost && make_next()) {
    payload_gone_ = !copy_fpdu(at(tail_ - 1));
    tail_ -= payload_gone_ ? 1 : 0;
  }
}

// The CRC covers the FPDU with its markers, also one that stands right before it (RFC 5044 4.3, 4.4).
bool MpaSender::copy_fpdu(Pending& pending) {
  const TxSegment& segment = pending.segment;
  const std::size_t start = buffered_;
  const std::uint32_t start_position = position_;
  if (options_.markers && position_ % kMarkerInterval == 0) put_marker(0);
  begin_ = position_;
  put(Bytes(segment.head).first(segment.head_bytes));
  for (std::size_t done = 0; done < segment.payload;) {
    Bytes pieces[8];
    const auto found = source_.payload(segment, done, pieces);
    if (!found || found->count == 0) {
      buffered_ = start;
      position_ = start_position;
      return false;
    }
    for (std::size_t i = 0; i < found->count; ++i) {
      put(pieces[i]);
      done += pieces[i].size();
    }
  }
  put(Bytes(kZeros).first(wire::fpdu_pad(segment.ulpdu())));
  if (options_.markers && position_ % kMarkerInterval == 0) put_marker(position_ - begin_);
  const std::uint32_t crc =
      options_.crc ? ~wire::crc32c_update(wire::kCrc32cStart, Bytes(&buffer_[start], buffered_ - start)) : 0;
  put({reinterpret_cast<const std::byte*>(&crc), sizeof crc});
  pending.bytes = static_cast<std::uint32_t>(buffered_ - start);
  return true;
}

void MpaSender::put(Bytes bytes) {
  while (!bytes.empty()) {
    if (options_.markers && position_ % kMarkerInterval == 0) put_marker(position_ - begin_);
    const std::size_t until = options_.markers ? kMarkerInterval - position_ % kMarkerInterval : bytes.size();
    const std::size_t piece = std::min(bytes.size(), until);
    copy_memory(&buffer_[buffered_], bytes.data(), piece);
    buffered_ += piece;
    position_ += static_cast<std::uint32_t>(piece);
    bytes = bytes.subspan(piece);
  }
}

void MpaSender::put_marker(std::size_t back) {
  wire::encode_marker(static_cast<std::uint16_t>(back), MutableBytes(&buffer_[buffered_], kMarkerBytes));
  buffered_ += kMarkerBytes;
  position_ += kMarkerBytes;
}

}  // namespace softrnic::iwarp
