// XXH3-128 once for each width of vector registers. The archive of xxHash has the narrowest only, so its
// header is compiled for each.
#pragma once

#include <cstddef>

namespace softrnic::copy {

/// Writes the hash of `size` bytes to `canonical`: 16 bytes, big-endian.
using Xxh3 = void(const void* data, std::size_t size, unsigned char* canonical);

Xxh3 xxh3_baseline;  ///< SSE2 or NEON
#if defined(__x86_64__)
Xxh3 xxh3_avx2, xxh3_avx512;
#endif

/// The widest that this processor has.
Xxh3* best_xxh3();

}  // namespace softrnic::copy
