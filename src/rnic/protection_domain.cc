#include "rnic/protection_domain.h"

#include <cerrno>

#include "base/reason_id.h"
#include "base/reason_words.h"
#include "rnic/context.h"
#include "rnic/limits.h"
#include "rnic/refusal.h"

namespace softrnic::rnic {

namespace {

Expected<void, Failure> room_for_one(const Context& context) {
  if (context.counts.pds.users() >= limits::kMaxPds)
    return refused(ENOMEM, ReasonId::too_many_objects, limits::kMaxPds, ObjectKind::pd);
  return {};
}

}  // namespace

Expected<void, Failure> ThreadDomain::destroy() const {
  if (uses.users() != 0) return refused(EBUSY, ReasonId::object_busy, uses.users(), ObjectKind::td);
  return {};
}

Expected<std::unique_ptr<ProtectionDomain>, Failure> ProtectionDomain::create(Context& context) {
  if (auto room = room_for_one(context); !room) return Unexpected{room.error()};
  context.counts.pds.add();
  return std::unique_ptr<ProtectionDomain>(new ProtectionDomain(context, nullptr, nullptr, nullptr));
}

Expected<std::unique_ptr<ProtectionDomain>, Failure> ProtectionDomain::create_parent(ProtectionDomain& of,
                                                                                     ThreadDomain* thread,
                                                                                     MemorySource* source) {
  Context& context = of.context();
  if (thread != nullptr && &thread->context() != &context) return refused(EINVAL, ReasonId::foreign_object);
  if (auto room = room_for_one(context); !room) return Unexpected{room.error()};
  std::unique_ptr<ProtectionDomain> parent(new ProtectionDomain(context, &of, thread, source));
  of.uses.add();
  if (thread != nullptr) thread->uses.add();
  context.counts.pds.add();
  return parent;
}

Expected<void, Failure> ProtectionDomain::destroy() {
  if (uses.users() != 0) return refused(EBUSY, ReasonId::object_busy, uses.users(), ObjectKind::pd);
  if (of_ != nullptr) of_->uses.release();
  if (thread_ != nullptr) thread_->uses.release();
  context_.counts.pds.release();
  return {};
}

}  // namespace softrnic::rnic
