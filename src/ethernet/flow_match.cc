#include "ethernet/flow_match.h"

#include <bit>
#include <cstring>

namespace softrnic::ethernet {
namespace {

std::uint64_t word(const FlowKey& key, std::size_t index) {
  std::uint64_t value;
  std::memcpy(&value, reinterpret_cast<const std::byte*>(&key) + index * sizeof value, sizeof value);
  return value;
}

}  // namespace

void FlowMatch::prepare() {
  auto values = std::bit_cast<FlowKey::Words>(value);
  const auto masks = std::bit_cast<FlowKey::Words>(mask);
  first_ = end_ = 0;
  for (std::uint32_t i = 0; i < FlowKey::kWords; ++i) {
    values[i] &= masks[i];
    if (masks[i] == 0) continue;
    if (end_ == 0) first_ = i;
    end_ = i + 1;
  }
  value = std::bit_cast<FlowKey>(values);
}

bool FlowMatch::matches(const ParsedFrame& frame) const {
  if (!frame.has(layers)) return false;
  for (std::uint32_t i = first_; i < end_; ++i)
    if ((word(frame.key, i) & word(mask, i)) != word(value, i)) return false;
  return true;
}

bool FlowMatch::operator==(const FlowMatch& other) const {
  return layers == other.layers && std::memcmp(&mask, &other.mask, sizeof mask) == 0 &&
         std::memcmp(&value, &other.value, sizeof value) == 0;
}

}  // namespace softrnic::ethernet
