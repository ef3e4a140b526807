#include "wire/crc32.h"

#include <array>
#include <atomic>
#include <cstring>

#include "wire/crc32_fold.h"

namespace softrnic::wire {
namespace {

// Below this many bytes tables beat folding, which takes long to begin and to end.
constexpr std::size_t kSmall = 32;

// kSlices[k][b]: what byte b, followed by k zero bytes, leaves in an empty register.
constexpr std::size_t kStep = 16;
constexpr auto kSlices = make_crc_slices<kCrc32Polynomial, kStep>();

// The look-ups of a step do not wait for each other. `size` is 4 to kStep.
template <std::size_t size>
std::uint32_t step(std::uint32_t state, const std::byte* p) {
  std::uint32_t first;
  std::memcpy(&first, p, sizeof first);
  first ^= state;
  std::uint32_t out = 0;
  for (unsigned i = 0; i < 4; ++i) out ^= kSlices[size - 1 - i][(first >> (8 * i)) & 0xff];
  for (unsigned i = 4; i < size; ++i) out ^= kSlices[size - 1 - i][std::to_integer<unsigned>(p[i])];
  return out;
}

std::uint32_t update_by_tables(std::uint32_t state, const std::byte* p, std::size_t size) {
  for (; size >= kStep; p += kStep, size -= kStep) state = step<kStep>(state, p);
  if (size >= 12) {
    state = step<12>(state, p);
    p += 12;
    size -= 12;
  } else if (size >= 8) {
    state = step<8>(state, p);
    p += 8;
    size -= 8;
  }
  if (size >= 4) {
    state = step<4>(state, p);
    p += 4;
    size -= 4;
  }
  for (; size > 0; ++p, --size) {
    state = (state >> 8) ^ kSlices[0][(state ^ std::to_integer<std::uint32_t>(*p)) & 0xff];
  }
  return state;
}

// In the reflected register bit 31 is x^0. A zero byte multiplies by x^8; the inverse step divides by x eight
// times.
constexpr std::uint32_t rewind_byte(std::uint32_t state) {
  for (int bit = 0; bit < 8; ++bit) {
    const bool wrapped = (state & 0x80000000) != 0;
    state = wrapped ? ((state ^ kCrc32Polynomial) << 1) | 1 : state << 1;
  }
  return state;
}

constexpr std::uint32_t kOne = 0x80000000;  // x^0

// kBack[0][n] = x^(-8 n), kBack[1][n] = x^(-8 · 256 n): any distance below 2^16 is a product of two.
constexpr std::array<CrcTable, 2> make_back() {
  std::array<CrcTable, 2> back{};
  std::uint32_t power = kOne;
  for (std::size_t n = 0; n < 256; ++n, power = rewind_byte(power)) back[0][n] = power;
  const std::uint32_t block = power;
  power = kOne;
  for (std::size_t n = 0; n < 256; ++n, power = crc_multiply<kCrc32Polynomial>(power, block))
    back[1][n] = power;
  return back;
}
constexpr auto kBack = make_back();

void not_chosen_yet(std::uint32_t, const std::byte*, std::size_t, std::byte*) {}
constinit std::atomic<Fold> g_fold{not_chosen_yet};

Fold chosen_fold() {
  Fold fold = g_fold.load(std::memory_order_relaxed);
  if (fold != not_chosen_yet) return fold;
  fold = best_fold();
  g_fold.store(fold, std::memory_order_relaxed);
  return fold;
}

std::uint32_t update_by(Fold fold, std::uint32_t state, Bytes bytes) {
  if (fold == nullptr) return update_by_tables(state, bytes.data(), bytes.size());
  std::byte rest[kFoldBlock];
  const std::size_t blocks = bytes.size() / kFoldBlock;
  fold(state, bytes.data(), blocks, rest);
  return update_by_tables(step<kFoldBlock>(0, rest), bytes.data() + blocks * kFoldBlock,
                          bytes.size() % kFoldBlock);
}

}  // namespace

std::uint32_t crc32_update(std::uint32_t state, Bytes bytes) {
  if (bytes.size() < kSmall) return update_by_tables(state, bytes.data(), bytes.size());
  return update_by(chosen_fold(), state, bytes);
}

std::uint32_t crc32_update_by(Fold fold, std::uint32_t state, Bytes bytes) {
  if (bytes.size() < kFoldBlock) fold = nullptr;
  return update_by(fold, state, bytes);
}

std::uint32_t crc32_update_12(std::uint32_t state, std::span<const std::byte, 12> bytes) {
  return step<12>(state, bytes.data());
}

std::uint32_t crc32_rewind(std::uint32_t state, std::size_t count) {
  for (; count >= 0x10000; count -= 0x8000) state = crc_multiply<kCrc32Polynomial>(state, kBack[1][0x80]);
  state = crc_multiply<kCrc32Polynomial>(state, kBack[0][count & 0xff]);
  return count < 0x100 ? state : crc_multiply<kCrc32Polynomial>(state, kBack[1][count >> 8]);
}

}  // namespace softrnic::wire
