#include "rnic/protection_domain.h"

#include <cerrno>

#include "base/reason_words.h"
#include "rnic/context.h"
#include "rnic/limits.h"
#include "rnic/refusal.h"

namespace softrnic::rnic {

Expected<std::unique_ptr<ProtectionDomain>, Failure> ProtectionDomain::create(Context& context) {
  if (context.counts.pds.users() >= limits::kMaxPds) {
    return refused(ENOMEM, ReasonId::too_many_objects, limits::kMaxPds, ObjectKind::pd);
  }
  context.counts.pds.add();
  return std::unique_ptr<ProtectionDomain>(new ProtectionDomain(context));
}

Expected<void, Failure> ProtectionDomain::destroy() {
  if (uses.users() != 0) return refused(EBUSY, ReasonId::object_busy, uses.users(), ObjectKind::pd);
  context_.counts.pds.release();
  return {};
}

}  // namespace softrnic::rnic
