// No query tells how much inline data a queue pair can have. So programs (UCX, libfabric) find out by
// trying, and go on with less: as long as they do, a refusal is the answer that they asked for, and no
// failure to explain.
#pragma once

#include <cstdint>

#include "base/expected.h"
#include "base/reason.h"

namespace softrnic::rnic {

/// EINVAL. Explained when the program asks for as much again, and otherwise by tell_inline_tries(), unless
/// a queue pair is made before that.
Unexpected<Failure> refuse_inline(std::uint32_t asked);
void queue_pair_was_made();
/// A device is closed. Of itself when the process ends.
void tell_inline_tries();

}  // namespace softrnic::rnic
