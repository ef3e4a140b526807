// The border between C and C++: no exception crosses it, and every failure leaves as its man page says.
#pragma once

#include <cerrno>
#include <type_traits>
#include <utility>

#include "base/expected.h"
#include "base/reason_id.h"
#include "rnic/refusal.h"

namespace softrnic::abi {

/// A required pointer argument is NULL.
inline Unexpected<Failure> null_argument() { return rnic::refused(EINVAL, ReasonId::null_argument); }

inline Unexpected<Failure> out_of_memory() { return rnic::refused(ENOMEM, ReasonId::out_of_memory, 0); }

/// Runs `body`, which returns Expected<…, Failure>. What is thrown inside (memory ran out) becomes ENOMEM.
template <typename Body>
auto guarded(Body&& body) noexcept -> decltype(body()) {
  try {
    return body();
  } catch (...) {
    return out_of_memory();
  }
}

/// For verbs that return 0 or a positive errno. Sets errno too, as some programs look there.
template <typename Body>
int errno_call(Body&& body) noexcept {
  const Expected<void, Failure> done = guarded(std::forward<Body>(body));
  if (done) return 0;
  errno = done.error().error;
  return done.error().error;
}

/// For verbs that return 0, or -1 and errno.
template <typename Body>
int minus_one_call(Body&& body) noexcept {
  return errno_call(std::forward<Body>(body)) == 0 ? 0 : -1;
}

/// For verbs that return a pointer, or NULL and errno. `body` returns Expected<T*, Failure>.
template <typename Body>
auto pointer_call(Body&& body) noexcept -> std::remove_reference_t<decltype(body().value())> {
  auto made = guarded(std::forward<Body>(body));
  if (made) return *made;
  errno = made.error().error;
  return nullptr;
}

}  // namespace softrnic::abi
