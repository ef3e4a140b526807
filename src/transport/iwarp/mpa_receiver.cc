#include "transport/iwarp/mpa_receiver.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/reason_id.h"
#include "transport/ib/ordered_copy.h"
#include "wire/crc32c.h"

namespace softrnic::iwarp {

using wire::kFpduCrcBytes;
using wire::kFpduHeaderBytes;
using wire::kMarkerBytes;
using wire::kMarkerInterval;

MpaReceiver::MpaReceiver(const Options& options, SegmentSink& sink) : options_(options), sink_(sink) {
  if (holds()) held_ = std::make_unique_for_overwrite<std::byte[]>(wire::kMaxUlpduBytes);
}

bool MpaReceiver::receive(Bytes bytes) {
  if (std::exchange(waits_, false) && !between_fpdus()) part_done();
  while (!bytes.empty() && !stopped_ && !waits_) {
    if (const std::size_t whole = take_whole(bytes); whole > 0 || waits_) {
      bytes = bytes.subspan(whole);
      continue;
    }
    if (options_.markers && position_ % kMarkerInterval < kMarkerBytes) {
      bytes = take_marker(bytes);
      continue;
    }
    const std::size_t piece = std::min({bytes.size(), due() - have_, until_marker()});
    take_part(bytes.first(piece));
    bytes = bytes.subspan(piece);
  }
  rest_ = bytes;
  return !stopped_;
}

// Most FPDUs lie in one piece: nothing of them needs to be kept, and the CRC is known before they are
// handed on.
std::size_t MpaReceiver::take_whole(Bytes bytes) {
  if (options_.markers || !between_fpdus() || bytes.size() < kFpduHeaderBytes) return 0;
  const std::size_t ulpdu = load_be16(bytes.data());
  const std::size_t size = wire::fpdu_bytes(ulpdu);
  if (size > bytes.size()) return 0;
  ulpdu_ = static_cast<std::uint16_t>(ulpdu);
  const Bytes covered = bytes.first(size - kFpduCrcBytes);
  if (options_.crc && !check_crc(wire::crc32c_update(wire::kCrc32cStart, covered),
                                 bytes.subspan(covered.size(), kFpduCrcBytes)))
    return size;
  const Bytes segment = bytes.subspan(kFpduHeaderBytes, ulpdu);
  const std::size_t header = ulpdu == 0 ? 0 : wire::ddp_bytes(segment[0]);
  if (header > ulpdu) {
    fault(StreamFault::segment, because(ReasonId::iwarp_segment, ulpdu));
    return size;
  }
  return hand_over(segment.first(header), segment.subspan(header)) || stopped_ ? size : 0;
}

bool MpaReceiver::begin_segment(Bytes header, std::size_t payload) {
  if (sink_.begin_segment(header, payload)) return true;
  waits_ = sink_.may_begin_later();
  stopped_ = !waits_;
  return false;
}

bool MpaReceiver::hand_over(Bytes header, Bytes payload) {
  if (!begin_segment(header, payload.size())) return false;
  for (std::size_t offset = 0; offset < payload.size() && !stopped_;) {
    const MutableBytes place = sink_.place(offset, payload.size() - offset);
    ib::ordered_copy(place.data(), payload.data() + offset, place.size());
    stopped_ = place.empty() || !sink_.placed(offset, place.size());
    offset += place.size();
  }
  stopped_ = stopped_ || !sink_.end_segment();
  return !stopped_;
}

// RFC 5044 4.3: a marker points back to where the length of its FPDU stands. One that stands right before
// it is part of that FPDU, too.
Bytes MpaReceiver::take_marker(Bytes bytes) {
  if (between_fpdus()) crc_ = wire::kCrc32cStart;
  const std::size_t piece = std::min<std::size_t>(bytes.size(), kMarkerBytes - marker_have_);
  std::memcpy(&marker_[marker_have_], bytes.data(), piece);
  cover(bytes.first(piece));
  marker_have_ = static_cast<std::uint8_t>(marker_have_ + piece);
  position_ += static_cast<std::uint32_t>(piece);
  if (marker_have_ < kMarkerBytes) return bytes.subspan(piece);
  marker_have_ = 0;
  const bool before = part_ == Part::length && have_ == 0;
  const std::size_t back = before ? 0 : position_ - kMarkerBytes - begin_;
  const std::uint16_t told = wire::parse_marker(marker_);
  if (told != static_cast<std::uint16_t>(back))
    fault(StreamFault::marker, because(ReasonId::iwarp_marker, told, back));
  return bytes.subspan(piece);
}

std::size_t MpaReceiver::until_marker() const {
  return options_.markers ? kMarkerInterval - position_ % kMarkerInterval : SIZE_MAX;
}

std::size_t MpaReceiver::due() const {
  switch (part_) {
    case Part::length:
      return kFpduHeaderBytes;
    case Part::header:
      return header_bytes_ == 0 ? 1 : header_bytes_;
    case Part::payload:
      return ulpdu_ - header_bytes_;
    case Part::trailer:
      break;
  }
  return wire::fpdu_pad(ulpdu_) + kFpduCrcBytes;
}

void MpaReceiver::cover(Bytes bytes) {
  if (options_.crc) crc_ = wire::crc32c_update(crc_, bytes);
}

void MpaReceiver::take_part(Bytes piece) {
  if (part_ == Part::length && have_ == 0) {
    // a marker right before it has begun the CRC already
    if (!options_.markers || position_ % kMarkerInterval != kMarkerBytes) crc_ = wire::kCrc32cStart;
    begin_ = position_;
  }
  position_ += static_cast<std::uint32_t>(piece.size());
  if (part_ == Part::payload) return take_payload(piece);
  std::byte* const to = part_ == Part::trailer  ? trailer_.data()
                        : part_ == Part::header ? &head_[kFpduHeaderBytes]
                                                : head_.data();
  std::memcpy(to + have_, piece.data(), piece.size());
  if (part_ == Part::trailer) {
    const std::size_t pad = wire::fpdu_pad(ulpdu_);
    cover(piece.first(std::min(piece.size(), pad - std::min<std::size_t>(pad, have_))));
  } else {
    cover(piece);
  }
  have_ += static_cast<std::uint32_t>(piece.size());
  if (have_ == due()) part_done();
}

void MpaReceiver::take_payload(Bytes piece) {
  cover(piece);
  while (!piece.empty() && !stopped_) {
    const MutableBytes place =
        holds() ? MutableBytes(&held_[have_], piece.size()) : sink_.place(have_, piece.size());
    if (place.empty()) {
      stopped_ = true;
      return;
    }
    ib::ordered_copy(place.data(), piece.data(), place.size());
    if (!holds() && !sink_.placed(have_, place.size())) stopped_ = true;
    have_ += static_cast<std::uint32_t>(place.size());
    piece = piece.subspan(place.size());
  }
  if (have_ == due()) part_done();
}

MutableBytes MpaReceiver::room() {
  if (stopped_ || part_ != Part::payload) return {};
  if (options_.markers && position_ % kMarkerInterval < kMarkerBytes) return {};
  const std::size_t most = std::min<std::size_t>(due() - have_, until_marker());
  room_ = holds() ? MutableBytes(&held_[have_], most) : sink_.place(have_, most);
  return room_;
}

bool MpaReceiver::filled(std::size_t count) {
  count = std::min(count, room_.size());
  if (count == 0 || stopped_) return !stopped_;
  cover(room_.first(count));
  room_ = {};
  if (!holds() && !sink_.placed(have_, count)) stopped_ = true;
  have_ += static_cast<std::uint32_t>(count);
  position_ += static_cast<std::uint32_t>(count);
  if (have_ == due()) part_done();
  return !stopped_;
}

void MpaReceiver::part_done() {
  if (stopped_) return;
  switch (part_) {
    case Part::length:
      ulpdu_ = load_be16(head_.data());
      header_bytes_ = 0;
      have_ = 0;
      part_ = Part::header;
      if (ulpdu_ == 0 && begin_payload()) part_ = Part::trailer;
      return;
    case Part::header:
      if (header_bytes_ == 0 && !begin_header()) return;
      if (have_ < header_bytes_ || !begin_payload()) return;
      have_ = 0;
      part_ = ulpdu_ == header_bytes_ ? Part::trailer : Part::payload;
      return;
    case Part::payload:
      have_ = 0;
      part_ = Part::trailer;
      return;
    case Part::trailer:
      return end_fpdu();
  }
}

// The first byte of a segment tells how long its header is.
bool MpaReceiver::begin_header() {
  header_bytes_ = static_cast<std::uint16_t>(wire::ddp_bytes(head_[kFpduHeaderBytes]));
  if (header_bytes_ <= ulpdu_) return true;
  fault(StreamFault::segment, because(ReasonId::iwarp_segment, ulpdu_));
  return false;
}

bool MpaReceiver::begin_payload() {
  return holds() ||
         begin_segment(Bytes(head_).subspan(kFpduHeaderBytes, header_bytes_), ulpdu_ - header_bytes_);
}

void MpaReceiver::end_fpdu() {
  const std::size_t pad = wire::fpdu_pad(ulpdu_);
  if (options_.crc && !check_crc(crc_, Bytes(trailer_).subspan(pad, kFpduCrcBytes))) return;
  if (holds()) {
    const Bytes header = Bytes(head_).subspan(kFpduHeaderBytes, header_bytes_);
    hand_over(header, Bytes(held_.get(), ulpdu_ - std::size_t{header_bytes_}));
    if (waits_) return;
  } else {
    stopped_ = !sink_.end_segment();
  }
  have_ = 0;
  part_ = Part::length;
}

bool MpaReceiver::check_crc(std::uint32_t state, Bytes trailer) {
  std::uint32_t stored;  // little-endian (RFC 5044 4.4)
  std::memcpy(&stored, trailer.data(), sizeof stored);
  if (stored == ~state) return true;
  fault(StreamFault::crc, because(ReasonId::iwarp_crc, wire::fpdu_bytes(ulpdu_), stored, ~state));
  return false;
}

void MpaReceiver::fault(StreamFault fault, const Reason& reason) {
  stopped_ = true;
  sink_.stream_fault(fault, reason);
}

}  // namespace softrnic::iwarp
