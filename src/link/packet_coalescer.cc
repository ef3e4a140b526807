#include "link/packet_coalescer.h"

#include <algorithm>

#include "base/memory_copy.h"
#include "transport/ib/ordered_copy.h"
#include "transport/ib/rx_packet.h"
#include "wire/fields.h"

namespace softrnic::link {

void PacketCoalescer::begin(ib::RxPacket& first, Bytes bytes) {
  first_ = &first;
  first.packets = 1;
  first.first_bytes = 0;
  first.rendezvous = nullptr;
  count_ = 1;
  piece_ = size_ = first.packet.payload.size();
  pieces_[0] = first.packet.payload.data();
  // A FIRST or MIDDLE packet with pad is not of the path MTU (IBTA 9.7.4.1.6), so nothing is put together
  // with it.
  open_ = !first.packet.info->ends() && first.packet.headers.bth.pad == 0 && !first.packet.payload.empty();
  if (!open_) return;
  last_bytes_ = bytes;
  last_ = next_.info = first.packet.info;
}

// Middle packets, which differ in PSN, acknowledge request and payload alone. Those of XRC have more headers.
bool PacketCoalescer::repeats_headers(Bytes bytes) const {
  return next_.info->position == wire::Position::middle && next_.info->headers == 0 &&
         bytes.size() == last_bytes_.size() && load_be64(bytes.data()) == load_be64(last_bytes_.data());
}

bool PacketCoalescer::goes_on_with(Bytes bytes) {
  if (!open_ || count_ == kMost || bytes.size() < wire::kBthBytes) return false;
  const std::uint32_t psn = wire::field::Bth::Psn::load(bytes.data());
  if (psn != ((first_->packet.headers.bth.psn + count_) & wire::kPsnMask)) return false;
  next_bytes_ = bytes;
  if (repeats_headers(bytes)) {
    next_.headers.bth.ack_request = (wire::field::Bth::AckRequest::load(bytes.data()) & 0x80) != 0;
    next_.payload = bytes.subspan(wire::kBthBytes, piece_);
    return true;
  }
  open_ = wire::parse_into(bytes, next_) && continues();
  return open_;
}

bool PacketCoalescer::continues() const {
  const wire::Packet& first = first_->packet;
  const wire::OpcodeInfo& info = *next_.info;
  const wire::Bth& bth = next_.headers.bth;
  const std::size_t size = next_.payload.size();
  return info.service == first.info->service && info.operation == first.info->operation && !info.starts() &&
         bth.destination == first.headers.bth.destination && bth.pkey == first.headers.bth.pkey &&
         (!info.has(wire::kXrceth) || next_.headers.xrc_srqn == first.headers.xrc_srqn) &&
         (info.ends() ? size > 0 && size <= piece_ : size == piece_);
}

void PacketCoalescer::take() {
  pieces_[count_++] = next_.payload.data();
  size_ += next_.payload.size();
  last_bytes_ = next_bytes_;
  last_ = next_.info;
  wire::Headers& whole = first_->packet.headers;
  if (next_.headers.bth.ack_request) whole.bth.ack_request = true;
  if (!next_.info->ends()) return;
  open_ = false;
  whole.bth.solicited = next_.headers.bth.solicited;
  whole.bth.pad = next_.headers.bth.pad;
  whole.aeth = next_.headers.aeth;
  whole.immediate = next_.headers.immediate;
  whole.invalidate = next_.headers.invalidate;
}

void PacketCoalescer::join() {
  if (count_ == 1) return;
  wire::Packet& whole = first_->packet;
  first_->first_opcode = whole.info->opcode;
  first_->first_bytes = static_cast<std::uint32_t>(piece_);
  whole.info = &wire::joined(*whole.info, *last_);
  whole.headers.bth.opcode = whole.info->opcode;
  whole.payload = {};
  first_->packets = count_;
  first_->rendezvous = this;
  first_->rendezvous_bytes = size_;
}

// All pieces but the last are of one size, and the last is no longer: what lies within size_ lies within
// them.
bool PacketCoalescer::copy(std::size_t offset, std::byte* to, std::size_t size) {
  if (offset > size_ || size > size_ - offset) return false;
  if (size == 0) return true;
  std::size_t index = offset / piece_;
  std::size_t within = offset % piece_;
  for (; size > piece_ - within; within = 0) {
    const std::size_t part = piece_ - within;
    copy_memory(to, pieces_[index++] + within, part);
    to += part;
    size -= part;
  }
  ib::ordered_copy(to, pieces_[index] + within, size);
  return true;
}

}  // namespace softrnic::link
