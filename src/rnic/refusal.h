// The one place where a refused verb becomes a Failure and an Explanation.
#pragma once

#include "base/expected.h"
#include "base/reason.h"

namespace softrnic::rnic {

/// What a refusal is about. `qpn` 0: no QP.
struct Subject {
  std::uint32_t qpn = 0;
  std::uint32_t peer_qpn = 0;
  std::uint64_t wr_id = 0;
  bool has_wr_id = false;
};

/// Explains `failure` (once) and wraps it for return. Whoever passes on a Failure that it got
/// must not call this again.
Unexpected<Failure> refused(const Failure& failure, const Subject& subject = {});

/// The same from the parts: an errno, a reason and its figures, about no object in particular.
template <typename... Figures>
Unexpected<Failure> refused(int error, ReasonId id, Figures... figures) {
  return refused(refuse(error, id, figures...));
}

}  // namespace softrnic::rnic
