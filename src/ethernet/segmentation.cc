#include "ethernet/segmentation.h"

#include <algorithm>

#include "ethernet/checksum.h"

namespace softrnic::ethernet {
namespace {

constexpr std::size_t kUdpHeader = 8;
constexpr std::size_t kIpv6Header = 40;
// of the flags of TCP (RFC 9293)
constexpr std::byte kFin{0x01}, kPsh{0x08}, kCwr{0x80};

}  // namespace

std::optional<Segmentation> Segmentation::of(Bytes frame, const ParsedFrame& parsed,
                                             std::size_t segment_bytes) {
  const bool network = parsed.has(kIpv4) || parsed.has(kIpv6);
  if (!network || (!parsed.has(kTcp) && !parsed.has(kUdp)) || segment_bytes == 0) return std::nullopt;
  Segmentation made(frame, parsed);
  const std::size_t tcp_words =
      std::to_integer<std::size_t>(frame[parsed.transport_at + (parsed.has(kTcp) ? 12 : 0)] >> 4);
  made.header_bytes_ = parsed.transport_at + (parsed.has(kTcp) ? tcp_words * 4 : kUdpHeader);
  if ((parsed.has(kTcp) && tcp_words < 5) || made.header_bytes_ >= frame.size()) return std::nullopt;
  made.segment_bytes_ = segment_bytes;
  made.count_ = (frame.size() - made.header_bytes_ + segment_bytes - 1) / segment_bytes;
  return made;
}

std::size_t Segmentation::write(std::size_t index, MutableBytes out) const {
  const std::size_t from = header_bytes_ + index * segment_bytes_;
  const std::size_t payload = std::min(segment_bytes_, frame_.size() - from);
  const MutableBytes made = out.first(header_bytes_ + payload);
  std::copy_n(frame_.begin(), header_bytes_, made.begin());
  std::copy_n(frame_.begin() + static_cast<std::ptrdiff_t>(from), payload,
              made.begin() + static_cast<std::ptrdiff_t>(header_bytes_));
  fix_network(index, made);
  fix_transport(index, made);
  fill_checksums(made, parsed_);
  return made.size();
}

// Each packet has an identification of its own (RFC 6864: where it may be fragmented).
void Segmentation::fix_network(std::size_t index, MutableBytes out) const {
  std::byte* const ip = out.data() + parsed_.network_at;
  const std::size_t bytes = out.size() - parsed_.network_at;
  if (parsed_.has(kIpv4)) {
    store_be16(ip + 2, static_cast<std::uint16_t>(bytes));
    store_be16(ip + 4, static_cast<std::uint16_t>(load_be16(ip + 4) + index));
  } else {
    store_be16(ip + 4, static_cast<std::uint16_t>(bytes - kIpv6Header));
  }
}

void Segmentation::fix_transport(std::size_t index, MutableBytes out) const {
  std::byte* const at = out.data() + parsed_.transport_at;
  if (parsed_.has(kUdp))
    return store_be16(at + 4, static_cast<std::uint16_t>(out.size() - parsed_.transport_at));
  store_be32(at + 4, static_cast<std::uint32_t>(load_be32(at + 4) + index * segment_bytes_));
  if (index != 0) at[13] &= ~kCwr;
  if (index + 1 != count_) at[13] &= ~(kFin | kPsh);
}

}  // namespace softrnic::ethernet
