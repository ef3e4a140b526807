#include "tests/sim/scatter.h"

#include <algorithm>

namespace softrnic::sim {

namespace {

/// Cuts `length` into at most `pieces` lengths, some of which may be 0.
std::vector<std::uint32_t> cut(std::uint32_t length, std::uint16_t pieces, Rng& rng) {
  const std::uint64_t n = rng.chance(0.5) ? 1 : rng.range(1, pieces);
  std::vector<std::uint32_t> cuts{0, length};
  for (std::uint64_t i = 1; i < n; ++i)
    cuts.push_back(static_cast<std::uint32_t>(rng.below(std::uint64_t{length} + 1)));
  std::sort(cuts.begin(), cuts.end());
  std::vector<std::uint32_t> lengths;
  for (std::size_t i = 1; i < cuts.size(); ++i) lengths.push_back(cuts[i] - cuts[i - 1]);
  return lengths;
}

}  // namespace

Region& add_scattered(Memory& memory, std::uint32_t length, std::uint16_t pieces, std::uint32_t access,
                      Use use, Rng& rng, std::vector<ib::Sge>& sges) {
  std::vector<std::uint32_t> lengths = cut(length, pieces, rng);
  if (length == 0 && rng.chance(0.5)) lengths.clear();
  std::vector<std::uint64_t> offsets(lengths.size());
  std::uint64_t size = 0;
  const bool backwards = rng.chance(0.3);
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const std::size_t k = backwards ? lengths.size() - 1 - i : i;
    size += rng.below(13);
    offsets[k] = size;
    size += lengths[k];
  }
  size += rng.below(13);
  Region& region = memory.add(size, access, use, rng);
  sges.clear();
  for (std::size_t i = 0; i < lengths.size(); ++i)
    sges.push_back(ib::Sge{region.base + offsets[i], lengths[i], region.key});
  return region;
}

std::vector<std::byte> gather(const std::vector<ib::Sge>& sges, std::uint64_t base, Bytes image) {
  std::vector<std::byte> message;
  for (const ib::Sge& sge : sges) {
    const Bytes piece = image.subspan(sge.address - base, sge.length);
    message.insert(message.end(), piece.begin(), piece.end());
  }
  return message;
}

void scatter(Bytes message, std::size_t skip, const std::vector<ib::Sge>& sges, std::uint64_t base,
             std::vector<std::byte>& image) {
  for (const ib::Sge& sge : sges) {
    const std::size_t jumped = std::min<std::size_t>(skip, sge.length);
    skip -= jumped;
    const std::size_t n = std::min<std::size_t>(sge.length - jumped, message.size());
    if (n != 0) std::memcpy(image.data() + (sge.address - base) + jumped, message.data(), n);
    message = message.subspan(n);
  }
}

}  // namespace softrnic::sim
