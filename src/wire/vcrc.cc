#include "wire/vcrc.h"

#include <array>

#include "wire/crc_register.h"

namespace softrnic::wire {
namespace {

constexpr std::size_t kStep = 8;
using Table = std::array<std::uint16_t, 256>;

// As 16-bit numbers they are half as large, and stay in the cache beside the data.
constexpr std::array<Table, kStep> make_slices() {
  constexpr auto wide = make_crc_slices<kVcrcPolynomial, kStep>();
  std::array<Table, kStep> slices{};
  for (std::size_t k = 0; k < kStep; ++k)
    for (std::size_t b = 0; b < slices[k].size(); ++b) slices[k][b] = static_cast<std::uint16_t>(wide[k][b]);
  return slices;
}
// [k][b]: what byte b, followed by k zero bytes, leaves in an empty register.
constexpr auto kSlices = make_slices();

constexpr std::uint16_t multiply(std::uint16_t a, std::uint16_t b) {
  return static_cast<std::uint16_t>(crc_multiply<kVcrcPolynomial, 16>(a, b));
}

// [0][n] = x^(8 n), [1][n] = x^(8 · 256 n): any distance below 2^16 is a product of two.
constexpr std::array<Table, 2> make_powers() {
  constexpr std::uint16_t one = 0x8000;  // x^0
  constexpr std::uint16_t byte = 0x8000 >> 8;
  std::array<Table, 2> powers{};
  std::uint16_t power = one;
  for (std::size_t n = 0; n < 256; ++n, power = multiply(power, byte)) powers[0][n] = power;
  const std::uint16_t block = power;
  power = one;
  for (std::size_t n = 0; n < 256; ++n, power = multiply(power, block)) powers[1][n] = power;
  return powers;
}
constexpr auto kPowers = make_powers();

std::uint16_t step(std::uint16_t state, const std::byte* p) {
  std::uint64_t block;
  static_assert(sizeof block == kStep);
  std::memcpy(&block, p, sizeof block);
  block ^= state;
  std::uint16_t out = 0;
  for (unsigned i = 0; i < kStep; ++i) out ^= kSlices[kStep - 1 - i][(block >> (8 * i)) & 0xff];
  return out;
}

}  // namespace

std::uint16_t vcrc_update(std::uint16_t state, Bytes bytes) {
  const std::byte* p = bytes.data();
  std::size_t size = bytes.size();
  for (; size >= kStep; p += kStep, size -= kStep) state = step(state, p);
  for (; size > 0; ++p, --size) {
    const unsigned index = (state ^ std::to_integer<unsigned>(*p)) & 0xff;
    state = static_cast<std::uint16_t>(state >> 8 ^ kSlices[0][index]);
  }
  return state;
}

std::uint16_t vcrc_zeros(std::uint16_t state, std::size_t count) {
  for (; count >= 0x10000; count -= 0x8000) state = multiply(state, kPowers[1][0x80]);
  state = multiply(state, kPowers[0][count & 0xff]);
  return count < 0x100 ? state : multiply(state, kPowers[1][count >> 8]);
}

std::uint16_t vcrc_of(Bytes packet) { return static_cast<std::uint16_t>(~vcrc_update(kVcrcStart, packet)); }

std::uint16_t load_vcrc(const std::byte* p) {
  std::uint16_t vcrc;
  std::memcpy(&vcrc, p, sizeof vcrc);
  return vcrc;
}

void store_vcrc(std::byte* p, std::uint16_t vcrc) { std::memcpy(p, &vcrc, sizeof vcrc); }

std::uint16_t vcrc_after_vl_change(std::uint16_t vcrc, std::uint8_t from_vl, std::uint8_t to_vl,
                                   std::size_t bytes) {
  if (bytes == 0) return vcrc;
  const unsigned changed = (from_vl ^ to_vl) << 4U & 0xffU;
  return vcrc ^ vcrc_zeros(kSlices[0][changed], bytes - 1);
}

}  // namespace softrnic::wire
