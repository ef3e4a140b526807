#include "base/hmac_sha256.h"

#include <sha256.h>

#include <cstdint>
#include <cstring>

namespace softrnic {
namespace {

constexpr std::size_t kBlock = 64;  // of SHA-256
using Block = std::array<std::uint8_t, kBlock>;

void add(SHA256_CTX& hash, Bytes bytes) {
  SHA256Update(&hash, reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
}

Mac finish(SHA256_CTX& hash) {
  Mac out;
  static_assert(sizeof out == SHA256_DIGEST_LENGTH);
  SHA256Final(reinterpret_cast<std::uint8_t*>(out.data()), &hash);
  return out;
}

SHA256_CTX begin_with(const Block& key, std::uint8_t mask) {
  Block block = key;
  for (std::uint8_t& byte : block) byte ^= mask;
  SHA256_CTX hash;
  SHA256Init(&hash);
  SHA256Update(&hash, block.data(), block.size());
  return hash;
}

}  // namespace

Mac hmac_sha256(Bytes key, Bytes text) {
  Block block{};
  if (key.size() > kBlock) {
    SHA256_CTX hash;
    SHA256Init(&hash);
    add(hash, key);
    const Mac digest = finish(hash);
    std::memcpy(block.data(), digest.data(), digest.size());
  } else if (!key.empty()) {
    std::memcpy(block.data(), key.data(), key.size());
  }
  SHA256_CTX inner = begin_with(block, 0x36);
  add(inner, text);
  const Mac digest = finish(inner);
  SHA256_CTX outer = begin_with(block, 0x5c);
  add(outer, digest);
  return finish(outer);
}

bool same_mac(const Mac& a, const Mac& b) {
  volatile unsigned difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) difference = difference | std::to_integer<unsigned>(a[i] ^ b[i]);
  return difference == 0;
}

}  // namespace softrnic
