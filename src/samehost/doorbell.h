// What wakes a lane whose thread sleeps: a descriptor that local peers take from the lane's process and write
// to.
#pragma once

#include <cstdint>

#include "base/unique_fd.h"

namespace softrnic::samehost {

/// One descriptor for both ends, non-blocking; none and errno: they ran out. A pipe, which local peers can
/// open anew where pidfd_getfd(2) is not to be had (samehost/foreign_descriptor.h), and without /proc an
/// eventfd. Who has it has a reader, so ringing for the dead raises no SIGPIPE.
UniqueFd make_doorbell();

/// A doorbell that is full was rung and not heard yet.
void ring_doorbell(const UniqueFd& doorbell);

/// Takes rings, at most `most` of them, and returns how many there were.
std::uint64_t take_rings(const UniqueFd& doorbell, std::uint64_t most);

}  // namespace softrnic::samehost
