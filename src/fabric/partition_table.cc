#include "fabric/partition_table.h"

#include <algorithm>

#include "fabric/types.h"

namespace softrnic::fabric {
namespace {

constexpr std::size_t kMaxEntries = 0xffff;

bool has(const std::vector<std::uint16_t>& sorted, std::uint16_t partition) {
  return std::binary_search(sorted.begin(), sorted.end(), partition);
}

}  // namespace

void PartitionTable::set(std::span<const std::uint16_t> pkeys) {
  full_.clear();
  limited_.clear();
  for (const std::uint16_t pkey : pkeys.first(std::min(pkeys.size(), kMaxEntries))) {
    const std::uint16_t partition = pkey & kPartition;
    if (partition != 0) ((pkey & kFullMember) != 0 ? full_ : limited_).push_back(partition);
  }
  std::sort(full_.begin(), full_.end());
  std::sort(limited_.begin(), limited_.end());
}

bool PartitionTable::admits_out(std::uint16_t pkey) const {
  const std::uint16_t partition = pkey & kPartition;
  return has(full_, partition) || ((pkey & kFullMember) != 0 && has(limited_, partition));
}

bool PartitionTable::admits_in(std::uint16_t pkey) const {
  const std::uint16_t partition = pkey & kPartition;
  return has(full_, partition) || ((pkey & kFullMember) == 0 && has(limited_, partition));
}

}  // namespace softrnic::fabric
