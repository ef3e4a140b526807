#include "wire/crc32c.h"

#include <array>
#include <atomic>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_acle.h>
#include <sys/auxv.h>
#endif

#include "wire/crc_register.h"

namespace softrnic::wire {
namespace {

// kTables[k][b]: what the byte b leaves in the register k bytes later.
constexpr auto kTables = make_crc_slices<kCrc32cPolynomial, 8>();

std::uint32_t update_by_tables(std::uint32_t state, Bytes bytes) {
  const std::byte* p = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= 8; left -= 8, p += 8) {
    std::uint64_t word;
    std::memcpy(&word, p, sizeof word);
    word ^= state;
    state = 0;
    for (std::size_t k = 0; k < 8; ++k) state ^= kTables[7 - k][(word >> (8 * k)) & 0xff];
  }
  for (; left > 0; --left, ++p)
    state = (state >> 8) ^ kTables[0][(state ^ std::to_integer<unsigned>(*p)) & 0xff];
  return state;
}

bool works_always() { return true; }

#if defined(__x86_64__)

// The instruction takes three cycles, of which the next is to know nothing: three runs of bytes side by
// side keep it busy. Each is kRun bytes long; what a register holds is taken over the runs behind it by a
// table.
constexpr std::size_t kRun = 1024;

// kOver[k][b]: what byte k of a register that holds b leaves after kRun bytes of zeros.
constexpr auto kOver = [] {
  std::uint32_t power = 0x80000000;  // x^0
  for (std::size_t bit = 0; bit < 8 * kRun; ++bit) power = crc_zero_bit<kCrc32cPolynomial>(power);
  std::array<std::array<std::uint32_t, 256>, 4> tables{};
  for (std::size_t k = 0; k < 4; ++k)
    for (std::uint32_t byte = 1; byte < 256; ++byte) {
      const std::uint32_t low = byte & (byte - 1);  // without its lowest bit, which is done already
      const std::uint32_t bit = byte ^ low;
      tables[k][byte] =
          low == 0 ? crc_multiply<kCrc32cPolynomial>(bit << (8 * k), power) : tables[k][low] ^ tables[k][bit];
    }
  return tables;
}();

std::uint32_t over_run(std::uint32_t state) {
  return kOver[0][state & 0xff] ^ kOver[1][(state >> 8) & 0xff] ^ kOver[2][(state >> 16) & 0xff] ^
         kOver[3][state >> 24];
}

std::uint64_t load_word(const std::byte* p) {
  std::uint64_t word;
  std::memcpy(&word, p, sizeof word);
  return word;
}

bool has_sse42() {
  __builtin_cpu_init();
  return __builtin_cpu_supports("sse4.2") != 0;
}

__attribute__((target("sse4.2"))) std::uint32_t update_sse42(std::uint32_t state, Bytes bytes) {
  const std::byte* p = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= 3 * kRun; left -= 3 * kRun, p += 3 * kRun) {
    std::uint64_t first = state, second = 0, third = 0;
    for (std::size_t at = 0; at < kRun; at += 8) {
      first = _mm_crc32_u64(first, load_word(p + at));
      second = _mm_crc32_u64(second, load_word(p + kRun + at));
      third = _mm_crc32_u64(third, load_word(p + 2 * kRun + at));
    }
    state = over_run(over_run(static_cast<std::uint32_t>(first)) ^ static_cast<std::uint32_t>(second)) ^
            static_cast<std::uint32_t>(third);
  }
  std::uint64_t rest = state;
  for (; left >= 8; left -= 8, p += 8) rest = _mm_crc32_u64(rest, load_word(p));
  state = static_cast<std::uint32_t>(rest);
  for (; left > 0; --left, ++p) state = _mm_crc32_u8(state, std::to_integer<std::uint8_t>(*p));
  return state;
}

constexpr NamedCrc32c kWays[] = {{"SSE 4.2", has_sse42, update_sse42},
                                 {"tables", works_always, update_by_tables}};

#elif defined(__aarch64__)

bool has_crc() { return (getauxval(AT_HWCAP) & HWCAP_CRC32) != 0; }

__attribute__((target("+crc"))) std::uint32_t update_arm(std::uint32_t state, Bytes bytes) {
  const std::byte* p = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= 8; left -= 8, p += 8) {
    std::uint64_t word;
    std::memcpy(&word, p, sizeof word);
    state = __crc32cd(state, word);
  }
  for (; left > 0; --left, ++p) state = __crc32cb(state, std::to_integer<std::uint8_t>(*p));
  return state;
}

constexpr NamedCrc32c kWays[] = {{"CRC32", has_crc, update_arm}, {"tables", works_always, update_by_tables}};

#else

constexpr NamedCrc32c kWays[] = {{"tables", works_always, update_by_tables}};

#endif

const NamedCrc32c& fastest() {
  for (const NamedCrc32c& each : kWays)
    if (each.works()) return each;
  return kWays[std::size(kWays) - 1];
}

// Threads that are first together find the same.
const NamedCrc32c& chosen() {
  static constinit std::atomic<const NamedCrc32c*> way{nullptr};
  const NamedCrc32c* known = way.load(std::memory_order_relaxed);
  if (known == nullptr) {
    known = &fastest();
    way.store(known, std::memory_order_relaxed);
  }
  return *known;
}

}  // namespace

std::uint32_t crc32c_update(std::uint32_t state, Bytes bytes) { return chosen().update(state, bytes); }

std::span<const NamedCrc32c> all_crc32c() { return kWays; }

}  // namespace softrnic::wire
