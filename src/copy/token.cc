#include "copy/token.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cstdlib>
#include <vector>

#include "base/random_bytes.h"
#include "base/unique_fd.h"

namespace softrnic::copy {
namespace {

template <typename Structure>
void append(std::vector<std::byte>& text, const Structure& structure) {
  const std::size_t at = text.size();
  text.resize(at + size_of(structure));
  encode(structure, MutableBytes(text).subspan(at));
}

}  // namespace

Mac prove(std::string_view token, char who, const Hello& hello, const Challenge& challenge, std::uint8_t role,
          const Ring& ring, const QueuePairNames& names) {
  std::vector<std::byte> text{static_cast<std::byte>(who), static_cast<std::byte>(role)};
  append(text, hello);
  append(text, challenge);
  append(text, ring);
  if ((challenge.capabilities & kQueuePairs) != 0) append(text, names);
  return hmac_sha256(std::as_bytes(std::span(token)), text);
}

Result<Nonce> fresh_nonce() {
  Nonce nonce;
  if (!fill_random(nonce)) return fail_errno("getrandom");
  return nonce;
}

Result<std::string> fresh_token() {
  static constexpr std::string_view kAlphabet = "abcdefghijkmnopqrstuvwxyz2345678";  // l and 1 look alike
  static_assert(kAlphabet.size() == 32);
  std::array<std::byte, 32> random{};
  if (!fill_random(random)) return fail_errno("getrandom");
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
