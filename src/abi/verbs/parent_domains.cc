#include "abi/verbs/parent_domains.h"

#include <cerrno>
#include <memory>

#include "abi/calls.h"
#include "abi/verbs/live_objects.h"
#include "abi/verbs/open_device.h"
#include "base/reason_id.h"

namespace softrnic::abi {
namespace {

/// IBV_PARENT_DOMAIN_INIT_ATTR_ALLOW_CC_UNPROTECTED_ALLOC of newer headers: we have no memory to protect.
constexpr std::uint32_t kUnprotectedAllocations = 1U << 2;
constexpr std::uint32_t kKnownFields =
    IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS | IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT | kUnprotectedAllocations;

Expected<ibv_td*, Failure> make_td(ibv_context* context, const ibv_td_init_attr* attributes) {
  if (context == nullptr || attributes == nullptr) return null_argument();
  if (attributes->comp_mask != 0)
    return rnic::refused(EOPNOTSUPP, ReasonId::parent_domain_mask, attributes->comp_mask);
  auto td = std::make_unique<Td>();
  td->context = context;
  td->impl = std::make_unique<rnic::ThreadDomain>(Context::of(context)->opened->context());
  return td.release();
}

Expected<void, Failure> end_td(ibv_td* verbs) {
  Td* const td = Td::of(verbs);
  if (auto done = td->impl->destroy(); !done) return done;
  delete td;
  return {};
}

Expected<ibv_pd*, Failure> make_parent(ibv_context* context, const ibv_parent_domain_init_attr* attributes) {
  if (context == nullptr || attributes == nullptr) return null_argument();
  if (auto given = check_given(attributes->pd); !given) return Unexpected{given.error()};
  if (auto given = check_optional(attributes->td); !given) return Unexpected{given.error()};
  const std::uint32_t mask = attributes->comp_mask;
  if ((mask & ~kKnownFields) != 0) return rnic::refused(EOPNOTSUPP, ReasonId::parent_domain_mask, mask);
  if (attributes->pd->context != context) return rnic::refused(EINVAL, ReasonId::foreign_object);
  auto pd = std::make_unique<Pd>();
  if ((mask & IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS) != 0) {
    if (attributes->alloc == nullptr || attributes->free == nullptr) return null_argument();
    pd->memory = std::make_unique<ProgramMemory>(*attributes);
    pd->memory->belongs_to(pd.get());
  }
  const Pd& of = *Pd::of(attributes->pd);
  rnic::ThreadDomain* const thread = attributes->td != nullptr ? Td::of(attributes->td)->impl.get() : nullptr;
  auto made = rnic::ProtectionDomain::create_parent(*of.impl, thread, pd->memory.get());
  if (!made) return Unexpected{made.error()};
  pd->context = context;
  pd->opened = of.opened;
  pd->impl = std::move(*made);
  pd->handle = of.opened->next_handle();
  return pd.release();
}

}  // namespace

ibv_td* alloc_td(ibv_context* context, ibv_td_init_attr* attributes) {
  return pointer_call([&] { return alive(make_td(context, attributes)); });
}

int dealloc_td(ibv_td* td) {
  return errno_call([&] { return end_life(td, end_td); });
}

ibv_pd* alloc_parent_domain(ibv_context* context, ibv_parent_domain_init_attr* attributes) {
  return pointer_call([&] { return alive(make_parent(context, attributes)); });
}

}  // namespace softrnic::abi
