#include "copy/checksum.h"

#if defined(__x86_64__)
#include <xxh_x86dispatch.h>  // chooses AVX2 or AVX-512 where the processor has them
#else
#include <xxhash.h>
#endif

namespace softrnic::copy {

Hash hash_of(Bytes bytes) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits(bytes.data(), bytes.size()));
  Hash out;
  static_assert(sizeof out == sizeof canonical);
  std::memcpy(out.data(), canonical.digest, sizeof out);
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
