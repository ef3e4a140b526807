// The secret that both ends know. It never crosses the wire: each side proves that it knows it (HMAC-SHA-256,
// RFC 2104, over both nonces and what the side says of itself).
#pragma once

#include <string>
#include <string_view>

#include "base/hmac_sha256.h"
#include "copy/error.h"
#include "copy/greeting.h"

namespace softrnic::copy {

inline constexpr std::size_t kMinToken = 16;  ///< characters

/// The proof of the client (`who` 'c') or of the server ('s'), whose ring and role it binds; and, when both
/// sides can have more than one, its queue pairs.
Mac prove(std::string_view token, char who, const Hello& hello, const Challenge& challenge, std::uint8_t role,
          const Ring& ring, const QueuePairNames& names);

/// Unpredictable bytes of the kernel.
Result<Nonce> fresh_nonce();

/// A new token: 32 characters, 160 bits.
Result<std::string> fresh_token();

/// The first line of `path`. A file that others may read is refused, and a token shorter than kMinToken.
Result<std::string> read_token(const std::string& path);

/// Where the token is looked for when no file is named: $XDG_CONFIG_HOME/softrnic/token or
/// ~/.config/softrnic/token.
std::string default_token_path();

}  // namespace softrnic::copy
