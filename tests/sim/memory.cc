#include "tests/sim/memory.h"

#include <algorithm>
#include <span>

namespace softrnic::sim {

namespace {
constexpr auto kGuardByte = static_cast<std::byte>(0xd7);
constexpr std::size_t kLargestRegion = 4'100'000;
constexpr std::size_t kStarts = 0x10000;

/// `size` random bytes. All are cut out of the same ones, as drawing them anew for each region was a third of
/// a run's time: two regions hold the same at the same place once in kStarts times.
Bytes random_bytes(std::size_t size, Rng& rng) {
  static const std::vector<std::uint64_t> words = [] {
    std::vector<std::uint64_t> drawn((kLargestRegion + kStarts) / 8);
    Rng source(0);
    std::generate(drawn.begin(), drawn.end(), [&source] { return source.next(); });
    return drawn;
  }();
  return std::as_bytes(std::span(words)).subspan(rng.below(kStarts), size);
}

}  // namespace

Region::Region(MemoryKey k, std::uint64_t b, Bytes original, std::uint32_t a, Use u)
    : key(k), base(b), access(a), use(u), original_(original) {}

MutableBytes Region::bytes() {
  if (storage_ == nullptr) {
    storage_ = std::make_unique_for_overwrite<std::byte[]>(size() + 2 * kGuard);
    std::fill_n(storage_.get(), kGuard, kGuardByte);
    std::copy(original_.begin(), original_.end(), storage_.get() + kGuard);
    std::fill_n(storage_.get() + kGuard + size(), kGuard, kGuardByte);
  }
  return {storage_.get() + kGuard, size()};
}

bool Region::guards_intact() const {
  const auto intact = [](std::byte b) { return b == kGuardByte; };
  return storage_ == nullptr ||
         (std::all_of(storage_.get(), storage_.get() + kGuard, intact) &&
          std::all_of(storage_.get() + kGuard + size(), storage_.get() + 2 * kGuard + size(), intact));
}

Region& Memory::add(std::size_t size, std::uint32_t access, Use use, Rng& rng) {
  // Odd multiplier: distinct keys for distinct counts.
  const std::uint32_t key = (++made_) * 0x9e3779b1U + salt_ * 0x85ebca6bU;
  auto region = std::make_unique<Region>(MemoryKey(key), next_base_, random_bytes(size, rng), access, use);
  next_base_ += (size + 0x2000) & ~std::uint64_t{0xfff};
  return *(regions_[key] = std::move(region));
}

Region* Memory::find(MemoryKey key) {
  const auto found = regions_.find(key.value);
  return found == regions_.end() ? nullptr : found->second.get();
}

}  // namespace softrnic::sim
