#include "daemon/user_limits.h"

#include <cerrno>

#include "base/reason_id.h"

namespace softrnic::daemon {

Expected<void, Failure> check_limit(uid_t user, std::size_t has, std::uint32_t limit, UserQuota what) {
  if (has < limit) return {};
  return Unexpected{refuse(EDQUOT, ReasonId::user_quota, user, has, limit, static_cast<std::uint64_t>(what))};
}

}  // namespace softrnic::daemon
