// HMAC-SHA-256 (RFC 2104, FIPS 180-4): proves that both sides know a secret, without telling it.
#pragma once

#include <array>
#include <cstddef>

#include "base/bytes.h"

namespace softrnic {

using Mac = std::array<std::byte, 32>;

/// Of `text` with `key`.
Mac hmac_sha256(Bytes key, Bytes text);

/// Takes the same time wherever they differ.
bool same_mac(const Mac& a, const Mac& b);

}  // namespace softrnic
