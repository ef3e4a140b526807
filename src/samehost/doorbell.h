// What wakes a lane whose thread sleeps: a descriptor that neighbours take from the lane's process and write
// to.
#pragma once

#include <cstdint>

#include "base/unique_fd.h"

namespace softrnic::samehost {

/// One descriptor for both ends, non-blocking; none and errno: they ran out. A pipe, which neighbours can
/// open anew where pidfd_getfd(2) is not to be had (samehost/foreign_descriptor.h), and without /proc an eventfd.
/// Who has it has a reader, so ringing for the dead raises no SIGPIPE.
UniqueFd make_bell();

/// A bell that is full was rung and not heard yet.
void ring_bell(const UniqueFd& bell);

/// Takes rings, at most `most` of them, and returns how many there were.
std::uint64_t take_rings(const UniqueFd& bell, std::uint64_t most);

}  // namespace softrnic::samehost
