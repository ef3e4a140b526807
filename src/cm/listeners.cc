#include "cm/listeners.h"

namespace softrnic::cm {
namespace {

bool overlap(std::uint64_t a, std::uint64_t mask_a, std::uint64_t b, std::uint64_t mask_b) {
  return ((a ^ b) & mask_a & mask_b) == 0;
}

}  // namespace

bool Listeners::add(Id id, ServiceId service_id, std::uint64_t mask) {
  if (mask == kExact) {
    if (find(service_id)) return false;
    exact_.emplace(service_id.value, id.value);
  } else {
    for (const auto& [other, range] : ranges_) {
      if (overlap(service_id.value, mask, range.service_id, range.mask)) return false;
    }
    masked_.emplace(id.value, Range{service_id.value, mask});
  }
  ranges_.emplace(id.value, Range{service_id.value, mask});
  return true;
}

void Listeners::remove(Id id) {
  const auto found = ranges_.find(id.value);
  if (found == ranges_.end()) return;
  if (found->second.mask == kExact) exact_.erase(found->second.service_id);
  masked_.erase(id.value);
  ranges_.erase(found);
}

std::optional<Id> Listeners::find(ServiceId service_id) const {
  if (const auto found = exact_.find(service_id.value); found != exact_.end()) return Id(found->second);
  for (const auto& [id, range] : masked_) {
    if (overlap(service_id.value, kExact, range.service_id, range.mask)) return Id(id);
  }
  return std::nullopt;
}

}  // namespace softrnic::cm
