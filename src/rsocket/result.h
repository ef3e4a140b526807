// What a call of an rsocket gives: a value, or the errno of its manual page.
#pragma once

#include <cerrno>

#include "base/expected.h"
#include "base/reason.h"

namespace softrnic::rsocket {

template <typename T>
using Result = Expected<T, int>;

inline Unexpected<int> fail(int error) { return {error}; }
/// What a call below has left in errno, and has explained.
inline Unexpected<int> fail_errno() { return {errno}; }

/// Why something did not go as it should.
template <typename... Figures>
void tell(ReasonId id, Figures... figures) {
  Explanation told;
  told.reason = because(id, figures...);
  explain(told);
}

template <typename... Figures>
Unexpected<int> refused(int error, ReasonId id, Figures... figures) {
  tell(id, figures...);
  return {error};
}

}  // namespace softrnic::rsocket
