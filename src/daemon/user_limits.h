// What one user may hold of a daemon that serves all users of a host.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

#include "base/expected.h"
#include "base/reason.h"
#include "base/reason_words.h"

namespace softrnic::daemon {

struct UserLimits {
  std::uint32_t connections = 250;  ///< processes, and librdmacm in each
  std::uint32_t lanes = 64;         ///< each with up to 65,535 queue pairs
  std::uint32_t channels = 1024;    ///< event channels of rdma_cm, and synchronous ids
  std::uint32_t ids = 8192;         ///< of rdma_cm, those of requests that nobody has fetched included
};

/// EDQUOT: the user has so many already, and may have no more.
Expected<void, Failure> check_limit(uid_t user, std::size_t has, std::uint32_t limit, UserQuota what);

}  // namespace softrnic::daemon
