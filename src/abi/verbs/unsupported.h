// Operations that are not there yet: entries of the tables of function pointers that fail with EOPNOTSUPP.
#pragma once

#include <infiniband/verbs.h>

#include <cerrno>
#include <type_traits>

#include "base/reason_id.h"
#include "base/reason_words.h"

namespace softrnic::abi {

/// Fills `slot` with a function that explains itself, sets errno and returns EOPNOTSUPP, or NULL.
template <LaterVerb verb, typename Result, typename... Arguments>
void refuse_in(Result (*&slot)(Arguments...)) {
  slot = [](Arguments...) -> Result {
    explain({.reason = because(ReasonId::not_supported, verb)});
    errno = EOPNOTSUPP;
    if constexpr (std::is_pointer_v<Result>) {
      return nullptr;
    } else if constexpr (!std::is_void_v<Result>) {
      return EOPNOTSUPP;
    }
  };
}

/// Every operation of `verbs` that softrnic does not have.
void refuse_unsupported(verbs_context& verbs);

}  // namespace softrnic::abi
