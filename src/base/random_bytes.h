// Unpredictable bytes of the kernel, for secrets and nonces.
#pragma once

#include "base/bytes.h"

namespace softrnic {

/// All of them, however many. False, with errno: there are none.
bool fill_random(MutableBytes bytes);

}  // namespace softrnic
