// A fuzzer with a planted bug, to show that the replay finds one and fails.
#include "fuzz/check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const bool planted = size > 3 && data[1] == 0xff && data[2] == 0x7f;
  FUZZ_CHECK(!planted);
  return 0;
}
