#include "rsocket/mapped_regions.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/reason_id.h"

namespace softrnic::rsocket {

Mapping MappedRegions::Region::mapping() const {
  return {offset,
          {reinterpret_cast<std::uintptr_t>(memory->addr), memory->rkey,
           static_cast<std::uint32_t>(memory->length)}};
}

std::optional<std::uint16_t> MappedRegions::free_row(std::size_t rows) const {
  std::vector<bool> used(rows);
  for (const Region& region : regions_) {
    if (region.row) used[*region.row] = true;
  }
  const auto unused = std::find(used.begin(), used.end(), false);
  if (unused == used.end()) return std::nullopt;
  return static_cast<std::uint16_t>(unused - used.begin());
}

Result<off_t> MappedRegions::add(ibv_pd* domain, void* address, std::size_t length, off_t offset,
                                 std::optional<std::size_t> rows) {
  Region made;
  int access = IBV_ACCESS_LOCAL_WRITE;
  if (rows) {
    access |= IBV_ACCESS_REMOTE_WRITE;
    made.row = free_row(*rows);
    if (!made.row) return refused(ENOMEM, ReasonId::rsocket_mappings, *rows);
  }
  made.memory.reset(ibv_reg_mr(domain, address, length, access));
  if (made.memory == nullptr) return fail_errno();
  made.offset = offset == -1 ? reinterpret_cast<std::uintptr_t>(address) : static_cast<std::uint64_t>(offset);
  made.told = !made.row;
  const auto at = static_cast<off_t>(made.offset);
  regions_.push_back(std::move(made));
  return at;
}

Result<void> MappedRegions::remove(const void* address, std::size_t length) {
  const auto found = std::find_if(regions_.begin(), regions_.end(), [&](const Region& region) {
    return region.memory->addr == address && region.memory->length == length;
  });
  if (found == regions_.end()) return fail(EINVAL);
  regions_.erase(found);
  return {};
}

MappedRegions::Region* MappedRegions::untold() {
  const auto found =
      std::find_if(regions_.begin(), regions_.end(), [](const Region& region) { return !region.told; });
  return found != regions_.end() ? &*found : nullptr;
}

}  // namespace softrnic::rsocket
