#include "fabric/vl_arbiter.h"

#include <algorithm>

namespace softrnic::fabric {
namespace {

constexpr std::uint8_t kUnsetWeight = 64;

}  // namespace

VlArbiter::VlArbiter() {
  std::array<VlWeight, kDataVls> equal;
  for (std::uint8_t vl = 0; vl < kDataVls; ++vl) equal[vl] = {vl, kUnsetWeight};
  low_.set(equal);
}

void VlArbiter::set_high_limit(std::uint8_t limit) {
  high_limit_ = limit;
  renew_high();
}

std::optional<std::uint8_t> VlArbiter::choose(VlMask ready) {
  if ((ready & vl_bit(kManagementVl)) != 0) {
    chosen_ = Chosen::management;
    return kManagementVl;
  }
  if (high_may()) {
    if (const auto vl = high_.choose(ready)) {
      chosen_ = Chosen::high;
      return vl;
    }
  }
  renew_high();
  if (const auto vl = low_.choose(ready)) {
    chosen_ = Chosen::low;
    return vl;
  }
  chosen_ = Chosen::high;
  return high_.choose(ready);
}

void VlArbiter::sent(std::uint16_t blocks) {
  if (chosen_ == Chosen::management) return;
  if (chosen_ == Chosen::low) return low_.sent(blocks);
  high_.sent(blocks);
  if (high_limit_ != kUnlimited) high_left_ -= blocks;
}

void VlArbiter::Table::set(std::span<const VlWeight> entries) {
  size_ = current_ = 0;
  vls_ = 0;
  for (const VlWeight& entry : entries.first(std::min(entries.size(), kEntries))) {
    if (entry.weight == 0 || entry.vl >= kDataVls) continue;
    entries_[size_++] = entry;
    vls_ |= vl_bit(entry.vl);
  }
  left_ = entries_[0].weight;
}

// A packet is sent whole as long as anything is left of its entry's weight. An entry that has nothing to send
// loses what is left (IBTA 7.6.9.2).
std::optional<std::uint8_t> VlArbiter::Table::choose(VlMask ready) {
  if ((ready & vls_) == 0) return std::nullopt;
  if (left_ > 0 && (ready & vl_bit(entries_[current_].vl)) != 0) return entries_[current_].vl;
  do {
    current_ = current_ + 1U < size_ ? static_cast<std::uint8_t>(current_ + 1U) : std::uint8_t{0};
  } while ((ready & vl_bit(entries_[current_].vl)) == 0);
  left_ = entries_[current_].weight;
  return entries_[current_].vl;
}

}  // namespace softrnic::fabric
