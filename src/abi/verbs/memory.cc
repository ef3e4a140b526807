// Protection domains and memory regions.
#include "abi/verbs/memory.h"

#include <infiniband/verbs.h>

#include <cerrno>
#include <cstdint>
#include <memory>

#include "abi/calls.h"
#include "abi/export.h"
#include "abi/verbs/live_objects.h"
#include "abi/verbs/open_device.h"
#include "base/reason_id.h"
#include "rnic/advise_region.h"

// Macros that choose between the exported functions.
#undef ibv_reg_mr
#undef ibv_reg_mr_iova

namespace softrnic::abi {
namespace {

std::unique_ptr<Pd> make_pd(ibv_context* context, OpenDevice& opened,
                            std::shared_ptr<rnic::ProtectionDomain> impl) {
  auto pd = std::make_unique<Pd>();
  pd->context = context;
  pd->opened = &opened;
  pd->impl = std::move(impl);
  return pd;
}

Expected<ibv_pd*, Failure> alloc_pd(ibv_context* context) {
  if (context == nullptr) return null_argument();
  OpenDevice& opened = *Context::of(context)->opened;
  auto made = rnic::ProtectionDomain::create(opened.context());
  if (!made) return Unexpected{made.error()};
  auto pd = make_pd(context, opened, std::move(*made));
  pd->handle = opened.add(pd->impl);
  return pd.release();
}

Expected<ibv_pd*, Failure> import_pd(ibv_context* context, std::uint32_t handle) {
  if (context == nullptr) return null_argument();
  OpenDevice& opened = *Context::of(context)->opened;
  auto found = opened.find_pd(handle);
  if (!found) return rnic::refused(ENOENT, ReasonId::bad_import_handle, handle);
  auto pd = make_pd(context, opened, std::move(found));
  pd->handle = handle;
  return pd.release();
}

Expected<void, Failure> dealloc_pd(ibv_pd* verbs) {
  Pd* const pd = Pd::of(verbs);
  const auto done = pd->impl->destroy();
  if (!done) return done;
  pd->opened->forget_pd(pd->handle);
  delete pd;
  return {};
}

void fill(Mr& mr, ibv_pd* pd) {
  mr.context = pd->context;
  mr.pd = pd;
  mr.lkey = mr.impl->key().value;
  mr.rkey = mr.impl->key().value;
}

Expected<ibv_mr*, Failure> make_mr(ibv_pd* pd, Expected<std::unique_ptr<rnic::MemoryRegion>, Failure> made) {
  if (!made) return Unexpected{made.error()};
  auto mr = std::make_unique<Mr>();
  mr->opened = Pd::of(pd)->opened;
  mr->impl = std::move(*made);
  fill(*mr, pd);
  mr->handle = mr->opened->add(mr->impl);
  return mr.release();
}

// Such a region is at no address of the program's: it names the offset.
Expected<ibv_mr*, Failure> register_dmabuf(ibv_pd* pd, const rnic::DmabufRegistration& wanted) {
  if (auto given = check_given(pd); !given) return Unexpected{given.error()};
  const auto mr = make_mr(pd, rnic::MemoryRegion::create_dmabuf(*Pd::of(pd)->impl, wanted));
  if (mr) (*mr)->addr = reinterpret_cast<void*>(static_cast<std::uintptr_t>(wanted.offset));
  if (mr) (*mr)->length = wanted.length;
  return mr;
}

Expected<ibv_mr*, Failure> allocate_null(ibv_pd* pd) {
  if (auto given = check_given(pd); !given) return Unexpected{given.error()};
  const auto mr = make_mr(pd, rnic::MemoryRegion::create_null(*Pd::of(pd)->impl));
  if (mr) (*mr)->length = SIZE_MAX;  // ibv_alloc_null_mr(3): the maximum length, and no rkey
  if (mr) (*mr)->rkey = 0;
  return mr;
}

Expected<ibv_mr*, Failure> import_mr(ibv_pd* pd, std::uint32_t handle) {
  if (auto given = check_given(pd); !given) return Unexpected{given.error()};
  OpenDevice& opened = *Pd::of(pd)->opened;
  auto found = opened.find_mr(handle);
  if (!found || &found->pd().root() != &Pd::of(pd)->impl->root())
    return rnic::refused(ENOENT, ReasonId::bad_import_handle, handle);
  auto mr = std::make_unique<Mr>();
  mr->opened = &opened;
  mr->impl = std::move(found);
  mr->imported = true;
  fill(*mr, pd);
  mr->handle = handle;
  mr->length = mr->impl->entry().length;
  return mr.release();
}

Expected<void, Failure> deregister(ibv_mr* verbs) {
  Mr* const mr = Mr::of(verbs);
  if (mr->opened->forget_mr(mr->handle)) {
    const auto done = mr->impl->destroy();
    if (!done) {
      mr->opened->put_back(mr->handle, mr->impl);
      return done;
    }
  }
  delete mr;
  return {};
}

constexpr int kReregFlags =
    IBV_REREG_MR_CHANGE_TRANSLATION | IBV_REREG_MR_CHANGE_PD | IBV_REREG_MR_CHANGE_ACCESS;

/// What ibv_rereg_mr(3) calls an input error: the region is as it was.
Expected<void, Failure> check_reregistration(const Mr* mr, int flags, const ibv_pd* pd,
                                             const rnic::Registration& wanted) {
  if (mr == nullptr || ((flags & IBV_REREG_MR_CHANGE_PD) != 0 && pd == nullptr)) return null_argument();
  const bool moves = (flags & IBV_REREG_MR_CHANGE_TRANSLATION) != 0;
  const bool changes_access = (flags & IBV_REREG_MR_CHANGE_ACCESS) != 0;
  if (mr->imported || (flags & ~kReregFlags) != 0 ||
      (moves && (wanted.address == nullptr || wanted.length == 0)) || (wanted.access != 0 && !changes_access))
    return rnic::refused(EINVAL, ReasonId::bad_mr_rereg, flags);
  return {};
}

Expected<void, Failure> reregister(Mr& mr, int flags, ibv_pd* pd, const rnic::Registration& wanted) {
  const bool changes_pd = (flags & IBV_REREG_MR_CHANGE_PD) != 0;
  if (auto given = check_optional(changes_pd ? pd : nullptr); !given) return given;
  const auto done = mr.impl->reregister(flags, changes_pd ? Pd::of(pd)->impl.get() : nullptr, wanted);
  if (!done) return done;
  if (changes_pd) mr.pd = pd;
  if ((flags & IBV_REREG_MR_CHANGE_TRANSLATION) != 0) {
    mr.addr = wanted.address;
    mr.length = wanted.length;
  }
  return {};
}

std::uint64_t address_of(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

}  // namespace

Expected<ibv_mr*, Failure> register_memory(ibv_pd* pd, const rnic::Registration& wanted) {
  if (auto given = check_given(pd); !given) return Unexpected{given.error()};
  const auto mr = make_mr(pd, rnic::MemoryRegion::create(*Pd::of(pd)->impl, wanted));
  if (!mr) return mr;
  (*mr)->addr = wanted.address;
  (*mr)->length = wanted.length;
  return mr;
}

ibv_mr* alloc_null_mr(ibv_pd* pd) {
  return pointer_call([&] { return alive(allocate_null(pd)); });
}

int advise_mr(ibv_pd* pd, ibv_advise_mr_advice advice, std::uint32_t flags, ibv_sge* ranges,
              std::uint32_t count) {
  return errno_call([&]() -> Expected<void, Failure> {
    if (ranges == nullptr && count != 0) return null_argument();
    if (auto given = check_given(pd); !given) return given;
    return rnic::advise(*Pd::of(pd)->impl, advice, flags, {ranges, count});
  });
}

}  // namespace softrnic::abi

using namespace softrnic;
using namespace softrnic::abi;

SOFTRNIC_VERB(ibv_pd*, ibv_alloc_pd, (ibv_context * context)) {
  return pointer_call([&] { return alive(alloc_pd(context)); });
}

SOFTRNIC_VERB(int, ibv_dealloc_pd, (ibv_pd * pd)) {
  return errno_call([&] { return end_life(pd, dealloc_pd); });
}

SOFTRNIC_EXPORT ibv_pd* ibv_import_pd(ibv_context* context, uint32_t handle) {
  return pointer_call([&] { return alive(import_pd(context, handle)); });
}

SOFTRNIC_EXPORT void ibv_unimport_pd(ibv_pd* pd) {
  if (!LiveObjects::take(pd, ObjectKind::pd).empty()) delete Pd::of(pd);
}

SOFTRNIC_EXPORT ibv_mr* ibv_reg_mr_iova2(ibv_pd* pd, void* address, size_t length, uint64_t iova,
                                         unsigned access) {
  // Optional flags are hints that a device may ignore.
  const unsigned required = access & ~static_cast<unsigned>(IBV_ACCESS_OPTIONAL_RANGE);
  return pointer_call([&] { return alive(register_memory(pd, {address, length, iova, required})); });
}

SOFTRNIC_VERB(ibv_mr*, ibv_reg_mr, (ibv_pd * pd, void* address, size_t length, int access)) {
  return ibv_reg_mr_iova2(pd, address, length, address_of(address), static_cast<unsigned>(access));
}

SOFTRNIC_EXPORT ibv_mr* ibv_reg_mr_iova(ibv_pd* pd, void* address, size_t length, uint64_t iova, int access) {
  return ibv_reg_mr_iova2(pd, address, length, iova, static_cast<unsigned>(access));
}

SOFTRNIC_EXPORT ibv_mr* ibv_reg_dmabuf_mr(ibv_pd* pd, uint64_t offset, size_t length, uint64_t iova, int fd,
                                          int access) {
  const auto required = static_cast<unsigned>(access) & ~static_cast<unsigned>(IBV_ACCESS_OPTIONAL_RANGE);
  return pointer_call([&] { return alive(register_dmabuf(pd, {fd, offset, length, iova, required})); });
}

SOFTRNIC_EXPORT int ibv_rereg_mr(ibv_mr* mr, int flags, ibv_pd* pd, void* address, size_t length,
                                 int access) {
  const rnic::Registration wanted{address, length, address_of(address), static_cast<std::uint32_t>(access)};
  if (errno_call([&] { return check_optional(mr); }) != 0) return IBV_REREG_MR_ERR_CMD;
  if (errno_call([&] { return check_reregistration(Mr::of(mr), flags, pd, wanted); }) != 0)
    return IBV_REREG_MR_ERR_INPUT;
  if (errno_call([&] { return reregister(*Mr::of(mr), flags, pd, wanted); }) != 0)
    return IBV_REREG_MR_ERR_CMD;
  return 0;
}

SOFTRNIC_VERB(int, ibv_dereg_mr, (ibv_mr * mr)) {
  return errno_call([&] { return end_life(mr, deregister); });
}

SOFTRNIC_EXPORT ibv_mr* ibv_import_mr(ibv_pd* pd, uint32_t handle) {
  return pointer_call([&] { return alive(import_mr(pd, handle)); });
}

SOFTRNIC_EXPORT void ibv_unimport_mr(ibv_mr* mr) {
  if (!LiveObjects::take(mr, ObjectKind::mr).empty()) delete Mr::of(mr);
}
