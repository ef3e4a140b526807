// A path without MTU: a packet may stand for several of the path MTU.
#pragma once

#include "tests/script/script.h"

namespace softrnic::ib::test {

class MemoryPath : public Script {
 protected:
  static constexpr std::uint32_t kLongest = 4 * 1024 + 100;  // four packets of the path MTU

  MemoryPath() {
    window = &path;
    path.set_memory(kLongest, 1 << 20);
  }
  PathWindow path;
};

}  // namespace softrnic::ib::test
