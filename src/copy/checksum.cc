#include "copy/checksum.h"

#include "copy/xxh3.h"

namespace softrnic::copy {

Xxh3* best_xxh3() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") != 0) return xxh3_avx512;
  if (__builtin_cpu_supports("avx2") != 0) return xxh3_avx2;
#endif
  return xxh3_baseline;
}

Hash hash_of(Bytes bytes) {
  static Xxh3* const best = best_xxh3();
  Hash out;
  best(bytes.data(), bytes.size(), reinterpret_cast<unsigned char*>(out.data()));
  return out;
}

std::string hex_of(const Hash& hash) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const std::byte byte : hash) {
    out += kDigits[std::to_integer<unsigned>(byte) >> 4];
    out += kDigits[std::to_integer<unsigned>(byte) & 15U];
  }
  return out;
}

void Fingerprint::add(std::uint64_t offset, std::uint32_t length, const Hash& hash) {
  std::array<std::byte, 44> text;
  Writer writer(text);
  writer(state_);
  writer(offset);
  writer(length);
  writer(hash);
  state_ = hash_of(text);
}

}  // namespace softrnic::copy
