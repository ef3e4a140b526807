#include "link/tx_batch.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "wire/fields.h"

namespace softrnic::link {
namespace {

constexpr unsigned kPadBits = 0x30;  // PadCnt (IBTA 9.2.4)

bool same_route(const TxRoute& a, const TxRoute& b) {
  return a.fd == b.fd && a.flow.destination == b.flow.destination && a.flow.source == b.flow.source &&
         a.flow.traffic_class == b.flow.traffic_class && a.flow.hop_limit == b.flow.hop_limit &&
         a.flow.flow_label == b.flow.flow_label && a.interface_index == b.interface_index;
}

/// Else a piece of it may be gone before the batch is sent.
bool lies_in_regions(const ib::TxPacket& packet) {
  const auto end = packet.fragments + packet.fragment_count;
  return std::all_of(packet.fragments, end, [](const ib::Fragment& piece) { return piece.key.value != 0; });
}

std::byte* bytes_of(const iovec& piece) { return static_cast<std::byte*>(piece.iov_base); }

}  // namespace

TxBatch::TxBatch() : scratch_(new std::byte[kScratchBytes]) {
  iovecs_.reserve(kIovecs);
  segments_.reserve(kPackets);
  messages_.reserve(kMessages);
}

bool TxBatch::has_room() const {
  return segments_.size() < kPackets && messages_.size() < kMessages &&
         iovecs_.size() + kMaxSingleIovecs <= kIovecs && used_ + kMaxPacket <= kScratchBytes;
}

void TxBatch::clear() {
  used_ = 0;
  iovecs_.clear();
  segments_.clear();
  messages_.clear();
}

// The receiving kernel steers a whole message by its first segment: all of them must be for the same lane.
TxMessage& TxBatch::message_for(const ib::TxPacket& packet, const TxRoute& route, std::size_t bytes,
                                bool segmentation) {
  if (segmentation && !messages_.empty()) {
    TxMessage& last = messages_.back();
    if (!last.closed && last.segment_count < kMaxSegments && bytes <= last.segment_bytes &&
        last.bytes + bytes <= kMaxMessageBytes && last.iovec_count + kMaxSingleIovecs <= kMessageIovecs &&
        last.destination.lane() == packet.headers.bth.destination.lane() && same_route(last.route, route)) {
      return last;
    }
  }
  TxMessage& fresh = messages_.emplace_back();
  fresh.route = route;
  fresh.destination = packet.headers.bth.destination;
  fresh.first_iovec = static_cast<std::uint32_t>(iovecs_.size());
  fresh.first_segment = static_cast<std::uint32_t>(segments_.size());
  fresh.segment_bytes = static_cast<std::uint32_t>(bytes);
  fresh.closed = !segmentation;
  return fresh;
}

void TxBatch::take_scratch(TxMessage& message, std::size_t bytes) {
  std::byte* start = cursor();
  used_ += bytes;
  if (message.iovec_count != 0) {
    iovec& last = iovecs_.back();
    if (bytes_of(last) + last.iov_len == start) {
      last.iov_len += bytes;
      return;
    }
  }
  iovecs_.push_back({start, bytes});
  ++message.iovec_count;
}

void TxBatch::add_damaged(const ib::TxPacket& packet, const TxRoute& route, std::uint32_t bit) {
  // Of the BTH: masked in the ICRC, damage there would go unnoticed
  constexpr std::size_t kUnprotectedByte = 4;
  add_copying(packet, route, false, kMaxPayload);
  const TxSegment& segment = segments_.back();
  std::size_t byte = bit / 8 % segment.bytes;
  if (byte == kUnprotectedByte) byte = 0;
  scratch_[segment.head + byte] ^= static_cast<std::byte>(1U << (bit % 8));
}

void TxBatch::add_copying(const ib::TxPacket& packet, const TxRoute& route, bool segmentation,
                          std::size_t longest_copied) {
  std::byte* const head = cursor();
  const std::size_t header_bytes = wire::encode(packet.headers, {head, wire::kMaxHeaderBytes});
  const std::uint8_t pad = wire::pad_for(packet.payload_bytes);
  using Flags = wire::field::Bth::Flags;
  Flags::store(head, static_cast<std::uint8_t>((Flags::load(head) & ~kPadBits) | pad << 4U));
  const std::size_t bytes = header_bytes + packet.payload_bytes + pad + wire::kIcrcBytes;

  TxMessage& message = message_for(packet, route, bytes, segmentation);
  TxSegment& segment = segments_.emplace_back();
  segment.head = static_cast<std::uint32_t>(used_);
  segment.header_bytes = static_cast<std::uint32_t>(header_bytes);
  segment.bytes = static_cast<std::uint32_t>(bytes);
  take_scratch(message, header_bytes);

  // Identifications count up from 0 over the segments of a message.
  wire::Icrc icrc(start_.of(message.route.flow, bytes), static_cast<std::uint16_t>(message.segment_count));
  icrc.add_headers({head, header_bytes});
  const bool copied = packet.payload_bytes <= longest_copied || !lies_in_regions(packet);
  segment.first_iovec = static_cast<std::uint32_t>(iovecs_.size());
  for (std::size_t i = 0; i < packet.fragment_count; ++i) {
    const Bytes fragment(packet.fragments[i].data, packet.fragments[i].size);
    if (fragment.empty()) continue;
    if (copied) {
      std::byte* const copy = cursor();
      std::memcpy(copy, fragment.data(), fragment.size());
      take_scratch(message, fragment.size());
      icrc.add({copy, fragment.size()});
    } else {
      iovecs_.push_back({const_cast<std::byte*>(fragment.data()), fragment.size()});
      ++message.iovec_count;
      icrc.add(fragment);
    }
  }
  segment.iovec_count = copied ? 0 : static_cast<std::uint32_t>(iovecs_.size()) - segment.first_iovec;

  std::byte* const tail = cursor();
  std::memset(tail, 0, pad);
  icrc.add({tail, pad});
  const std::uint32_t value = icrc.value();
  std::memcpy(tail + pad, &value, sizeof value);
  segment.tail = static_cast<std::uint32_t>(used_);
  segment.tail_bytes = static_cast<std::uint32_t>(pad + wire::kIcrcBytes);
  segment.head_bytes = copied ? segment.tail - segment.head : segment.header_bytes;
  take_scratch(message, segment.tail_bytes);

  ++message.segment_count;
  message.bytes += static_cast<std::uint32_t>(bytes);
  if (bytes < message.segment_bytes) message.closed = true;
}

// How many more packets like `segment`, which is the last of `message`, it takes.
std::size_t TxBatch::room_for(const TxSegment& segment, const TxMessage& message) const {
  if (message.closed || segment.bytes != message.segment_bytes || segment.iovec_count != 1) return 0;
  constexpr std::size_t kEach = 2;  // iovecs: the payload, and what stands between two payloads
  const std::size_t of_batch = std::min({kPackets - segments_.size(), (kIovecs - iovecs_.size()) / kEach,
                                         (kScratchBytes - used_) / (wire::kBthBytes + wire::kIcrcBytes)});
  const std::size_t of_message =
      std::min({kMaxSegments - message.segment_count, (kMaxMessageBytes - message.bytes) / segment.bytes,
                (kMessageIovecs - message.iovec_count) / kEach});
  return std::min(of_batch, of_message);
}

std::uint32_t TxBatch::repeat(const std::byte* payload, std::uint32_t count) {
  TxMessage& message = messages_.back();
  TxSegment segment = segments_.back();
  const std::size_t fits = std::min<std::size_t>(count, room_for(segment, message));
  const std::size_t size = segment.bytes - segment.header_bytes - segment.tail_bytes;
  if (fits == 0 || segment.header_bytes != wire::kBthBytes || segment.tail_bytes != wire::kIcrcBytes)
    return 0;
  std::array<std::byte, wire::kBthBytes> bth;
  std::memcpy(bth.data(), scratch_.get() + segment.head, bth.size());
  std::uint32_t psn = wire::field::Bth::Psn::load(bth.data());
  const wire::IcrcStart& start = start_.of(message.route.flow, segment.bytes);
  for (std::size_t i = 0; i < fits; ++i, payload += size) {
    psn = (psn + 1) & wire::kPsnMask;
    wire::field::Bth::Psn::store(bth.data(), psn);
    wire::Icrc icrc(start, static_cast<std::uint16_t>(message.segment_count + i));
    icrc.add_bth(bth);
    icrc.add({payload, size});
    const std::uint32_t value = icrc.value();
    segment.head = static_cast<std::uint32_t>(used_);
    segment.tail = segment.head + static_cast<std::uint32_t>(bth.size());
    segment.first_iovec = static_cast<std::uint32_t>(iovecs_.size());
    std::memcpy(cursor(), bth.data(), bth.size());
    std::memcpy(cursor() + bth.size(), &value, sizeof value);
    iovecs_.back().iov_len += bth.size();  // the ICRC of the one before ends there
    iovecs_.push_back({const_cast<std::byte*>(payload), size});
    iovecs_.push_back({scratch_.get() + segment.tail, sizeof value});
    segments_.push_back(segment);
    used_ += bth.size() + sizeof value;
  }
  message.segment_count += static_cast<std::uint32_t>(fits);
  message.iovec_count += static_cast<std::uint32_t>(2 * fits);
  message.bytes += static_cast<std::uint32_t>(fits * segment.bytes);
  return static_cast<std::uint32_t>(fits);
}

std::size_t TxBatch::pieces(const TxMessage& message, std::size_t index, iovec* out) const {
  const TxSegment& segment = segments_[message.first_segment + index];
  std::size_t count = 0;
  out[count++] = {scratch_.get() + segment.head, segment.head_bytes};
  for (std::size_t i = 0; i < segment.iovec_count; ++i) out[count++] = iovecs_[segment.first_iovec + i];
  out[count++] = {scratch_.get() + segment.tail, segment.tail_bytes};
  return count;
}

std::size_t TxBatch::single(const TxMessage& message, std::size_t index, iovec* out) {
  const TxSegment& segment = segments_[message.first_segment + index];
  const std::size_t count = pieces(message, index, out);
  wire::Icrc icrc(message.route.flow, segment.bytes, 0);
  icrc.add_headers({bytes_of(out[0]), segment.header_bytes});
  icrc.add({bytes_of(out[0]) + segment.header_bytes, segment.head_bytes - segment.header_bytes});
  for (std::size_t i = 1; i + 1 < count; ++i) icrc.add({bytes_of(out[i]), out[i].iov_len});
  const std::size_t pad = segment.tail_bytes - wire::kIcrcBytes;
  std::byte* const tail = bytes_of(out[count - 1]);
  icrc.add({tail, pad});
  const std::uint32_t value = icrc.value();
  std::memcpy(tail + pad, &value, sizeof value);
  return count;
}

}  // namespace softrnic::link
