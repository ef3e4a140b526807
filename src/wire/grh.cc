#include "wire/grh.h"

#include <algorithm>

#include "wire/fields.h"

namespace softrnic::wire {

using Fields = field::Ipv6;

Grh decode_grh(std::span<const std::byte, kGrhBytes> bytes) {
  const std::byte* const p = bytes.data();
  Grh grh;
  const std::uint32_t flow = Fields::Flow::load(p);
  grh.version = static_cast<std::uint8_t>(flow >> 28);
  grh.traffic_class = static_cast<std::uint8_t>(flow >> 20);
  grh.flow_label = flow & 0xfffff;
  grh.payload_length = Fields::PayloadLength::load(p);
  grh.next_header = Fields::NextHeader::load(p);
  grh.hop_limit = Fields::HopLimit::load(p);
  std::copy_n(p + Fields::kSource, grh.sgid.raw.size(), grh.sgid.raw.begin());
  std::copy_n(p + Fields::kDestination, grh.dgid.raw.size(), grh.dgid.raw.begin());
  return grh;
}

void encode_grh(const Grh& grh, std::span<std::byte, kGrhBytes> out) {
  std::byte* const p = out.data();
  Fields::Flow::store(p, static_cast<std::uint32_t>(grh.version) << 28 |
                             static_cast<std::uint32_t>(grh.traffic_class) << 20 |
                             (grh.flow_label & 0xfffff));
  Fields::PayloadLength::store(p, grh.payload_length);
  Fields::NextHeader::store(p, grh.next_header);
  Fields::HopLimit::store(p, grh.hop_limit);
  std::copy(grh.sgid.raw.begin(), grh.sgid.raw.end(), p + Fields::kSource);
  std::copy(grh.dgid.raw.begin(), grh.dgid.raw.end(), p + Fields::kDestination);
}

}  // namespace softrnic::wire
