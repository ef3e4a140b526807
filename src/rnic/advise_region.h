// ibv_advise_mr: a program says what it will use of regions with on-demand paging.
#pragma once

#include <infiniband/verbs.h>

#include <span>

#include "base/expected.h"
#include "base/reason.h"

namespace softrnic::rnic {

class ProtectionDomain;

/// Brings the pages of `ranges` in, before it returns. Without IBV_ADVISE_MR_FLAG_FLUSH in `flags` a page
/// that is not to be had is no failure, as nobody waits for the result. PREFETCH_NO_FAULT brings in nothing:
/// what is there already is reached as it is. Errors, of ibv_advise_mr(3): EOPNOTSUPP, the advice; EINVAL,
/// the flags, or no range; EFAULT, a key, its region or access, or pages that are not there.
Expected<void, Failure> advise(const ProtectionDomain& pd, ibv_advise_mr_advice advice, std::uint32_t flags,
                               std::span<const ibv_sge> ranges);

}  // namespace softrnic::rnic
