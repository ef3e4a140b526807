#include "wire/crc32_fold.h"

#include "wire/crc32.h"

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#include <sys/auxv.h>
#endif

namespace softrnic::wire {
namespace {

// A block is a polynomial, its first bit the coefficient of x^127: the low half of a vector register holds
// the high powers. The product of two 64-bit halves comes out one place too low, that is, times x.
struct FoldConstants {
  std::uint64_t low = 0, high = 0;  ///< what the halves of a block are multiplied by
};

// x^power modulo the polynomial, as the upper 32 bits of a half.
constexpr std::uint64_t power_of_x(std::size_t power) {
  std::uint32_t value = 0x80000000;  // x^0
  for (; power >= 8; power -= 8) value = crc32_zeros(value, 1);
  for (; power > 0; --power) value = (value >> 1) ^ ((value & 1) != 0 ? kCrc32Polynomial : 0);
  return std::uint64_t{value} << 32;
}

// Takes a block to a place `bytes` further on.
constexpr FoldConstants fold_by(std::size_t bytes) {
  return {power_of_x(8 * bytes + 63), power_of_x(8 * bytes - 1)};
}

#if defined(__x86_64__)

// Intrinsics of GCC 12 begin with registers that nothing was put into, and warn of themselves.
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif

constexpr FoldConstants kBy16 = fold_by(16), kBy32 = fold_by(32), kBy48 = fold_by(48), kBy64 = fold_by(64),
                        kBy96 = fold_by(96), kBy128 = fold_by(128), kBy192 = fold_by(192),
                        kBy256 = fold_by(256);

#define SOFTRNIC_PCLMUL __attribute__((target("pclmul,sse4.1"), always_inline)) inline
#define SOFTRNIC_VPCLMUL_AVX2 __attribute__((target("avx2,pclmul,vpclmulqdq"), always_inline)) inline
#define SOFTRNIC_VPCLMUL __attribute__((target("avx512f,avx512vl,pclmul,vpclmulqdq"), always_inline)) inline

SOFTRNIC_PCLMUL __m128i vector_of(FoldConstants by) {
  return _mm_set_epi64x(static_cast<long long>(by.high), static_cast<long long>(by.low));
}
SOFTRNIC_PCLMUL __m128i load(const std::byte* p) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
}
SOFTRNIC_PCLMUL __m128i folded(__m128i block, __m128i by, __m128i onto) {
  const __m128i low = _mm_clmulepi64_si128(block, by, 0x00);
  const __m128i high = _mm_clmulepi64_si128(block, by, 0x11);
  return _mm_xor_si128(_mm_xor_si128(low, high), onto);
}
SOFTRNIC_PCLMUL __m128i fold_rest(__m128i block, const std::byte* p, std::size_t blocks) {
  const __m128i by16 = vector_of(kBy16);
  for (; blocks > 0; --blocks, p += kFoldBlock) block = folded(block, by16, load(p));
  return block;
}
SOFTRNIC_PCLMUL void store(std::byte* to, __m128i block) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), block);
}

bool has_pclmul() {
  __builtin_cpu_init();
  return __builtin_cpu_supports("pclmul") != 0 && __builtin_cpu_supports("sse4.1") != 0;
}

__attribute__((target("pclmul,sse4.1"))) void fold_pclmul(std::uint32_t state, const std::byte* p,
                                                          std::size_t blocks, std::byte* to) {
  __m128i first = _mm_xor_si128(load(p), _mm_cvtsi32_si128(static_cast<int>(state)));
  if (blocks < 8) return store(to, fold_rest(first, p + 16, blocks - 1));
  __m128i second = load(p + 16), third = load(p + 32), fourth = load(p + 48);
  const __m128i by64 = vector_of(kBy64);
  for (p += 64, blocks -= 4; blocks >= 4; blocks -= 4, p += 64) {
    first = folded(first, by64, load(p));
    second = folded(second, by64, load(p + 16));
    third = folded(third, by64, load(p + 32));
    fourth = folded(fourth, by64, load(p + 48));
  }
  first = folded(first, vector_of(kBy48), fourth);
  first = folded(second, vector_of(kBy32), first);
  first = folded(third, vector_of(kBy16), first);
  store(to, fold_rest(first, p, blocks));
}

SOFTRNIC_VPCLMUL_AVX2 __m256i load_two(const std::byte* p) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
}
SOFTRNIC_VPCLMUL_AVX2 __m256i two_of(FoldConstants by) { return _mm256_broadcastsi128_si256(vector_of(by)); }
SOFTRNIC_VPCLMUL_AVX2 __m256i folded(__m256i blocks, __m256i by, __m256i onto) {
  const __m256i low = _mm256_clmulepi64_epi128(blocks, by, 0x00);
  const __m256i high = _mm256_clmulepi64_epi128(blocks, by, 0x11);
  return _mm256_xor_si256(_mm256_xor_si256(low, high), onto);
}

bool has_vpclmul_avx2() {
  return has_pclmul() && __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("vpclmulqdq") != 0;
}

__attribute__((target("avx2,pclmul,vpclmulqdq"))) void fold_vpclmul_avx2(std::uint32_t state,
                                                                         const std::byte* p,
                                                                         std::size_t blocks, std::byte* to) {
  const __m128i start = _mm_cvtsi32_si128(static_cast<int>(state));
  if (blocks < 2) return store(to, _mm_xor_si128(load(p), start));
  __m256i two = _mm256_xor_si256(load_two(p), _mm256_zextsi128_si256(start));
  p += 32;
  blocks -= 2;
  if (blocks >= 14) {
    __m256i second = load_two(p), third = load_two(p + 32), fourth = load_two(p + 64);
    const __m256i by128 = two_of(kBy128);
    for (p += 96, blocks -= 6; blocks >= 8; blocks -= 8, p += 128) {
      two = folded(two, by128, load_two(p));
      second = folded(second, by128, load_two(p + 32));
      third = folded(third, by128, load_two(p + 64));
      fourth = folded(fourth, by128, load_two(p + 96));
    }
    two = folded(two, two_of(kBy96), fourth);
    two = folded(second, two_of(kBy64), two);
    two = folded(third, two_of(kBy32), two);
  }
  const __m256i by32 = two_of(kBy32);
  for (; blocks >= 2; blocks -= 2, p += 32) two = folded(two, by32, load_two(p));
  const __m128i last =
      folded(_mm256_castsi256_si128(two), vector_of(kBy16), _mm256_extracti128_si256(two, 1));
  store(to, fold_rest(last, p, blocks));
}

SOFTRNIC_VPCLMUL __m512i load_four(const std::byte* p) { return _mm512_loadu_si512(p); }
SOFTRNIC_VPCLMUL __m512i four_of(FoldConstants by) { return _mm512_broadcast_i32x4(vector_of(by)); }
SOFTRNIC_VPCLMUL __m512i folded(__m512i blocks, __m512i by, __m512i onto) {
  const __m512i low = _mm512_clmulepi64_epi128(blocks, by, 0x00);
  const __m512i high = _mm512_clmulepi64_epi128(blocks, by, 0x11);
  return _mm512_ternarylogic_epi64(low, high, onto, 0x96);  // exclusive or of the three
}
// Each of four blocks to the place of the last.
SOFTRNIC_VPCLMUL __m128i one_of_four(__m512i four) {
  const __m512i by =
      _mm512_set_epi64(0, 0, static_cast<long long>(kBy16.high), static_cast<long long>(kBy16.low),
                       static_cast<long long>(kBy32.high), static_cast<long long>(kBy32.low),
                       static_cast<long long>(kBy48.high), static_cast<long long>(kBy48.low));
  const __m512i moved = folded(four, by, _mm512_setzero_si512());
  const __m128i upper =
      _mm_xor_si128(_mm512_extracti32x4_epi32(moved, 1), _mm512_extracti32x4_epi32(moved, 2));
  return _mm_xor_si128(_mm_xor_si128(_mm512_castsi512_si128(moved), upper),
                       _mm512_extracti32x4_epi32(four, 3));
}

bool has_vpclmul() {
  return has_pclmul() && __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512vl") != 0 &&
         __builtin_cpu_supports("vpclmulqdq") != 0;
}

__attribute__((target("avx512f,avx512vl,pclmul,vpclmulqdq"))) void fold_vpclmul(std::uint32_t state,
                                                                                const std::byte* p,
                                                                                std::size_t blocks,
                                                                                std::byte* to) {
  const __m128i start = _mm_cvtsi32_si128(static_cast<int>(state));
  if (blocks < 4) return store(to, fold_rest(_mm_xor_si128(load(p), start), p + 16, blocks - 1));
  __m512i four = _mm512_xor_si512(load_four(p), _mm512_zextsi128_si512(start));
  p += 64;
  blocks -= 4;
  if (blocks >= 28) {
    __m512i second = load_four(p), third = load_four(p + 64), fourth = load_four(p + 128);
    const __m512i by256 = four_of(kBy256);
    for (p += 192, blocks -= 12; blocks >= 16; blocks -= 16, p += 256) {
      four = folded(four, by256, load_four(p));
      second = folded(second, by256, load_four(p + 64));
      third = folded(third, by256, load_four(p + 128));
      fourth = folded(fourth, by256, load_four(p + 192));
    }
    four = folded(four, four_of(kBy192), fourth);
    four = folded(second, four_of(kBy128), four);
    four = folded(third, four_of(kBy64), four);
  }
  const __m512i by64 = four_of(kBy64);
  for (; blocks >= 4; blocks -= 4, p += 64) four = folded(four, by64, load_four(p));
  store(to, fold_rest(one_of_four(four), p, blocks));
}

#undef SOFTRNIC_PCLMUL
#undef SOFTRNIC_VPCLMUL_AVX2
#undef SOFTRNIC_VPCLMUL

constexpr NamedFold kFolds[] = {{"AVX-512 VPCLMULQDQ", has_vpclmul, fold_vpclmul},
                                {"AVX2 VPCLMULQDQ", has_vpclmul_avx2, fold_vpclmul_avx2},
                                {"PCLMULQDQ", has_pclmul, fold_pclmul}};

#elif defined(__aarch64__)

constexpr FoldConstants kBy16 = fold_by(16), kBy32 = fold_by(32), kBy48 = fold_by(48), kBy64 = fold_by(64);

#define SOFTRNIC_PMULL __attribute__((target("+crypto"))) inline

SOFTRNIC_PMULL uint64x2_t load(const std::byte* p) {
  return vreinterpretq_u64_u8(vld1q_u8(reinterpret_cast<const std::uint8_t*>(p)));
}
SOFTRNIC_PMULL uint64x2_t folded(uint64x2_t block, FoldConstants by, uint64x2_t onto) {
  const auto low = vreinterpretq_u64_p128(vmull_p64(vgetq_lane_u64(block, 0), by.low));
  const auto high = vreinterpretq_u64_p128(vmull_p64(vgetq_lane_u64(block, 1), by.high));
  return veorq_u64(veorq_u64(low, high), onto);
}

bool has_pmull() { return (getauxval(AT_HWCAP) & HWCAP_PMULL) != 0; }

__attribute__((target("+crypto"))) void fold_pmull(std::uint32_t state, const std::byte* p,
                                                   std::size_t blocks, std::byte* to) {
  uint64x2_t first = veorq_u64(load(p), vsetq_lane_u64(state, vdupq_n_u64(0), 0));
  p += kFoldBlock;
  if (--blocks >= 7) {
    uint64x2_t lanes[4] = {first, load(p), load(p + 16), load(p + 32)};
    for (p += 48, blocks -= 3; blocks >= 4; blocks -= 4)
      for (uint64x2_t& lane : lanes) {
        lane = folded(lane, kBy64, load(p));
        p += kFoldBlock;
      }
    first = folded(lanes[0], kBy48, lanes[3]);
    first = folded(lanes[1], kBy32, first);
    first = folded(lanes[2], kBy16, first);
  }
  for (; blocks > 0; --blocks, p += kFoldBlock) first = folded(first, kBy16, load(p));
  vst1q_u8(reinterpret_cast<std::uint8_t*>(to), vreinterpretq_u8_u64(first));
}

#undef SOFTRNIC_PMULL

constexpr NamedFold kFolds[] = {{"PMULL", has_pmull, fold_pmull}};

#endif

}  // namespace

std::span<const NamedFold> all_folds() {
#if defined(__x86_64__) || defined(__aarch64__)
  return kFolds;
#else
  return {};
#endif
}

Fold best_fold() {
  for (const NamedFold& each : all_folds())
    if (each.works()) return each.fold;
  return nullptr;
}

}  // namespace softrnic::wire
