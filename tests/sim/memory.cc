#include "tests/sim/memory.h"

#include <algorithm>

namespace softrnic::sim {

namespace {
constexpr auto kGuardByte = static_cast<std::byte>(0xd7);
}

Region::Region(MemoryKey k, std::uint64_t b, std::size_t size, std::uint32_t a, Use u)
    : key(k), base(b), access(a), use(u), storage_(size + 2 * kGuard, kGuardByte) {}

bool Region::guards_intact() const {
  const auto intact = [](std::byte b) { return b == kGuardByte; };
  return std::all_of(storage_.begin(), storage_.begin() + kGuard, intact) &&
         std::all_of(storage_.end() - static_cast<std::ptrdiff_t>(kGuard), storage_.end(), intact);
}

void Region::fill(Rng& rng) {
  const MutableBytes all = bytes();
  std::size_t i = 0;
  for (; i + 8 <= all.size(); i += 8) {
    const std::uint64_t v = rng.next();
    std::memcpy(all.data() + i, &v, 8);
  }
  const std::uint64_t v = rng.next();
  if (i < all.size()) std::memcpy(all.data() + i, &v, all.size() - i);
}

Region& Memory::add(std::size_t size, std::uint32_t access, Use use, Rng& rng) {
  // Odd multiplier: distinct keys for distinct counts.
  const std::uint32_t key = (++made_) * 0x9e3779b1U + salt_ * 0x85ebca6bU;
  auto region = std::make_unique<Region>(MemoryKey(key), next_base_, size, access, use);
  next_base_ += (size + 0x2000) & ~std::uint64_t{0xfff};
  region->fill(rng);
  return *(regions_[key] = std::move(region));
}

Region* Memory::find(MemoryKey key) {
  const auto found = regions_.find(key.value);
  return found == regions_.end() ? nullptr : found->second.get();
}

}  // namespace softrnic::sim
