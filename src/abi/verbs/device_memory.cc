#include "abi/verbs/device_memory.h"

#include <memory>

#include "abi/calls.h"
#include "abi/export.h"
#include "abi/verbs/live_objects.h"
#include "abi/verbs/memory.h"
#include "abi/verbs/open_device.h"
#include "base/reason_id.h"

namespace softrnic::abi {
namespace {

int copy_in(ibv_dm* dm, std::uint64_t offset, const void* from, std::size_t length) {
  return errno_call([&]() -> Expected<void, Failure> {
    if (auto given = check_given(dm); !given) return given;
    return Dm::of(dm)->impl->copy_in(offset, from, length);
  });
}

int copy_out(void* to, ibv_dm* dm, std::uint64_t offset, std::size_t length) {
  return errno_call([&]() -> Expected<void, Failure> {
    if (auto given = check_given(dm); !given) return given;
    return Dm::of(dm)->impl->copy_out(to, offset, length);
  });
}

ibv_dm* make_dm(ibv_context* context, std::shared_ptr<rnic::DeviceMemory> impl, std::uint32_t handle) {
  auto dm = std::make_unique<Dm>();
  dm->opened = Context::of(context)->opened.get();
  dm->impl = std::move(impl);
  dm->context = context;
  dm->memcpy_to_dm = copy_in;
  dm->memcpy_from_dm = copy_out;
  dm->comp_mask = IBV_DM_MASK_HANDLE;
  dm->handle = handle;
  return dm.release();
}

Expected<ibv_dm*, Failure> allocate(ibv_context* context, const ibv_alloc_dm_attr* attributes) {
  if (context == nullptr || attributes == nullptr) return null_argument();
  if (attributes->comp_mask != 0)
    return rnic::refused(EINVAL, ReasonId::bad_comp_mask, attributes->comp_mask);
  OpenDevice& opened = *Context::of(context)->opened;
  auto made = rnic::DeviceMemory::create(opened.context(), attributes->length, attributes->log_align_req);
  if (!made) return Unexpected{made.error()};
  const std::shared_ptr<rnic::DeviceMemory> impl = std::move(*made);
  return make_dm(context, impl, opened.add(impl));
}

Expected<ibv_dm*, Failure> import_dm(ibv_context* context, std::uint32_t handle) {
  if (context == nullptr) return null_argument();
  auto found = Context::of(context)->opened->find_dm(handle);
  if (!found) return rnic::refused(ENOENT, ReasonId::bad_import_handle, handle);
  return make_dm(context, std::move(found), handle);
}

Expected<void, Failure> end_dm(ibv_dm* verbs) {
  Dm* const dm = Dm::of(verbs);
  const auto done = dm->impl->destroy();
  if (!done) return done;
  dm->opened->forget_dm(dm->handle);
  delete dm;
  return {};
}

// ibv_alloc_dm(3): such a region is always zero-based.
Expected<ibv_mr*, Failure> register_dm(ibv_pd* pd, ibv_dm* verbs, std::uint64_t offset, std::size_t length,
                                       unsigned access) {
  constexpr unsigned kKnown = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
                              IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_ZERO_BASED;
  if (auto given = check_given(pd, verbs); !given) return Unexpected{given.error()};
  rnic::DeviceMemory& dm = *Dm::of(verbs)->impl;
  const unsigned required = access & ~static_cast<unsigned>(IBV_ACCESS_OPTIONAL_RANGE);
  if ((required & ~kKnown) != 0 || (required & IBV_ACCESS_ZERO_BASED) == 0)
    return rnic::refused(EINVAL, ReasonId::device_memory_access, required);
  if (!dm.holds(offset, length))
    return rnic::refused(EINVAL, ReasonId::bad_device_memory_range, length, offset, dm.length());
  auto made = register_memory(pd, {.address = dm.bytes() + offset,
                                   .length = length,
                                   .iova = 0,
                                   .access = required,
                                   .device_memory = &dm.uses});
  if (made) (*made)->addr = nullptr;  // its bytes are reached by their offset alone
  return made;
}

}  // namespace

ibv_dm* alloc_dm(ibv_context* context, ibv_alloc_dm_attr* attributes) {
  return pointer_call([&] { return alive(allocate(context, attributes)); });
}

int free_dm(ibv_dm* dm) {
  return errno_call([&] { return end_life(dm, end_dm); });
}

ibv_mr* reg_dm_mr(ibv_pd* pd, ibv_dm* dm, std::uint64_t offset, std::size_t length, unsigned access) {
  return pointer_call([&] { return alive(register_dm(pd, dm, offset, length, access)); });
}

}  // namespace softrnic::abi

using namespace softrnic;
using namespace softrnic::abi;

SOFTRNIC_EXPORT ibv_dm* ibv_import_dm(ibv_context* context, uint32_t handle) {
  return pointer_call([&] { return alive(import_dm(context, handle)); });
}

SOFTRNIC_EXPORT void ibv_unimport_dm(ibv_dm* dm) {
  if (!LiveObjects::take(dm, ObjectKind::dm).empty()) delete Dm::of(dm);
}
