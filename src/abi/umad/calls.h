// How libibumad's functions fail: with a negative errno of a few kinds, and errno itself saying more.
#pragma once

#include <cerrno>
#include <utility>

#include "abi/calls.h"

namespace softrnic::umad {

/// The value of `body`, an Expected<int, Failure>; of a failure `failed`, with errno its own. What is thrown
/// inside (memory ran out) becomes a failure with ENOMEM.
template <typename Body>
int value_or(int failed, Body&& body) noexcept {
  const Expected<int, Failure> done = abi::guarded(std::forward<Body>(body));
  if (done) return *done;
  errno = done.error().error;
  return failed;
}

/// The same with the negative errno as the value of a failure.
template <typename Body>
int value_or_error(Body&& body) noexcept {
  const int value = value_or(-1, std::forward<Body>(body));
  return value == -1 ? -errno : value;
}

}  // namespace softrnic::umad
