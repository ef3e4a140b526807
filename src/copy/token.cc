#include "copy/token.h"

#include <fcntl.h>
#include <sha256.h>
#include <sys/random.h>
#include <sys/stat.h>

#include <cstdlib>
#include <vector>

#include "base/unique_fd.h"

namespace softrnic::copy {
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

template <typename Structure>
void append(std::vector<std::byte>& text, const Structure& structure) {
  const std::size_t at = text.size();
  text.resize(at + size_of(structure));
  encode(structure, MutableBytes(text).subspan(at));
}

Result<void> fill(MutableBytes bytes) {
  while (!bytes.empty()) {
    const ssize_t got = getrandom(bytes.data(), bytes.size(), 0);
    if (got < 0 && errno != EINTR) return fail_errno("getrandom");
    if (got > 0) bytes = bytes.subspan(static_cast<std::size_t>(got));
  }
  return {};
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

Mac prove(std::string_view token, char who, const Hello& hello, const Challenge& challenge, std::uint8_t role,
          const Ring& ring, const QueuePairNames& names) {
  std::vector<std::byte> text{static_cast<std::byte>(who), static_cast<std::byte>(role)};
  append(text, hello);
  append(text, challenge);
  append(text, ring);
  if ((challenge.capabilities & kQueuePairs) != 0) append(text, names);
  return hmac_sha256(std::as_bytes(std::span(token)), text);
}

bool same_mac(const Mac& a, const Mac& b) {
  volatile unsigned difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) difference = difference | std::to_integer<unsigned>(a[i] ^ b[i]);
  return difference == 0;
}

Result<Nonce> fresh_nonce() {
  Nonce nonce;
  if (const auto filled = fill(nonce); !filled) return Unexpected{filled.error()};
  return nonce;
}

Result<std::string> fresh_token() {
  static constexpr std::string_view kAlphabet = "abcdefghijkmnopqrstuvwxyz2345678";  // l and 1 look alike
  static_assert(kAlphabet.size() == 32);
  std::array<std::byte, 32> random{};
  if (const auto filled = fill(random); !filled) return Unexpected{filled.error()};
  std::string token;
  for (const std::byte byte : random) token += kAlphabet[std::to_integer<unsigned>(byte) & 31U];
  return token;
}

Result<std::string> read_token(const std::string& path) {
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return fail_errno("token file " + path);
  struct stat info {};
  if (fstat(file.get(), &info) != 0) return fail_errno("token file " + path);
  if (S_ISREG(info.st_mode) && (info.st_mode & (S_IRWXG | S_IRWXO)) != 0)
    return fail(Trouble::usage, "token file " + path + " may be read or written by others: chmod 600 it");
  std::string text(4096, '\0');
  const ssize_t got = ::read(file.get(), text.data(), text.size());
  if (got < 0) return fail_errno("token file " + path);
  text.resize(static_cast<std::size_t>(got));
  text.resize(std::min(text.find('\n'), text.size()));
  if (text.size() < kMinToken)
    return fail(Trouble::usage, "the token in " + path + " is too short: 16 characters or more");
  return text;
}

std::string default_token_path() {
  if (const char* folder = std::getenv("XDG_CONFIG_HOME"); folder != nullptr && *folder != 0)
    return std::string(folder) + "/softrnic/token";
  const char* home = std::getenv("HOME");
  return std::string(home != nullptr ? home : "") + "/.config/softrnic/token";
}

}  // namespace softrnic::copy
