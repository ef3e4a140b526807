// Compiled once for each of SOFTRNIC_XXH3, with the options of that width: nothing in here but xxHash, whose
// functions are static then, may be included.
#include "copy/xxh3.h"

// Intrinsics of GCC 12 begin with registers that nothing was put into, and warn of themselves.
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace softrnic::copy {

void SOFTRNIC_XXH3(const void* data, std::size_t size, unsigned char* canonical) {
  XXH128_canonicalFromHash(reinterpret_cast<XXH128_canonical_t*>(canonical), XXH3_128bits(data, size));
}

}  // namespace softrnic::copy
