#include "link/packet_segmenter.h"

#include <algorithm>

namespace softrnic::link {

void PacketSegmenter::begin(const ib::TxPacket& whole) {
  whole_ = &whole;
  part_.path = whole.path;
  part_.headers = whole.headers;
  part_.path_mtu = whole.path_mtu;
  taken_ = 0;
  fragment_ = within_ = 0;
}

const ib::TxPacket& PacketSegmenter::next() {
  const wire::OpcodeParts& opcodes = wire::parts_of(whole_->headers.bth.opcode);
  const bool last = taken_ + 1 == whole_->packets;
  const std::uint32_t offset = taken_ * whole_->path_mtu;
  wire::Bth& bth = part_.headers.bth;
  bth.opcode = last ? opcodes.last : taken_ == 0 ? opcodes.first : opcodes.middle;
  bth.psn = (whole_->headers.bth.psn + taken_) & wire::kPsnMask;
  bth.pad = last ? whole_->headers.bth.pad : 0;
  bth.ack_request = last && whole_->headers.bth.ack_request;
  bth.solicited = last && whole_->headers.bth.solicited;
  take_payload(last ? whole_->payload_bytes - offset : whole_->path_mtu);
  ++taken_;
  return part_;
}

PacketSegmenter::Alike PacketSegmenter::alike() const {
  // The last one may be shorter, and carries what is asked for once.
  const std::uint32_t left = whole_->packets - taken_;
  const bool behind_middle =
      taken_ > 0 && wire::opcode_info(part_.headers.bth.opcode).position == wire::Position::middle;
  if (left < 2 || !behind_middle) return {};
  const ib::Fragment& from = whole_->fragments[fragment_];
  if (from.key.value == 0) return {};  // to be copied
  const std::size_t in_one_piece = (from.size - within_) / whole_->path_mtu;
  return {from.data + within_, std::min(left - 1, static_cast<std::uint32_t>(in_one_piece))};
}

void PacketSegmenter::skip(std::uint32_t parts) {
  taken_ += parts;
  advance(std::size_t{parts} * whole_->path_mtu);
}

// Within the present fragment, or to the beginning of the next one.
void PacketSegmenter::advance(std::size_t bytes) {
  within_ += bytes;
  if (within_ < whole_->fragments[fragment_].size) return;
  ++fragment_;
  within_ = 0;
}

void PacketSegmenter::take_payload(std::uint32_t bytes) {
  part_.payload_bytes = bytes;
  part_.fragment_count = 0;
  while (bytes > 0) {
    const ib::Fragment& from = whole_->fragments[fragment_];
    const std::size_t size = std::min<std::size_t>(bytes, from.size - within_);
    part_.fragments[part_.fragment_count++] = {from.data + within_, size, from.key};
    bytes -= static_cast<std::uint32_t>(size);
    advance(size);
  }
}

}  // namespace softrnic::link
