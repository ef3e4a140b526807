#include "rnic/memory_region.h"

#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/reason_id.h"
#include "base/reason_words.h"
#include "rnic/context.h"
#include "rnic/limits.h"
#include "rnic/mapped_memory.h"
#include "rnic/null_memory.h"
#include "rnic/on_demand_memory.h"
#include "rnic/protection_domain.h"
#include "rnic/refusal.h"

namespace softrnic::rnic {
namespace {

constexpr std::uint32_t kKnownAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                                       IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC |
                                       IBV_ACCESS_MW_BIND | IBV_ACCESS_ZERO_BASED | IBV_ACCESS_ON_DEMAND |
                                       IBV_ACCESS_HUGETLB | IBV_ACCESS_OPTIONAL_RANGE | ib::kFlushGlobal;
constexpr std::uint32_t kNeedLocalWrite = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;

// IBTA 10.6.3.1 and ibv_reg_mr(3).
Expected<void, Failure> check_access(std::uint32_t access) {
  if ((access & ib::kFlushPersistent) != 0) return refused(EOPNOTSUPP, ReasonId::no_persistent_memory);
  const bool unknown = (access & ~kKnownAccess) != 0;
  const bool lacks_write = (access & kNeedLocalWrite) != 0 && (access & IBV_ACCESS_LOCAL_WRITE) == 0;
  if (unknown || lacks_write) return refused(EINVAL, ReasonId::bad_access_flags, access);
  if ((access & IBV_ACCESS_ON_DEMAND) != 0 && !OnDemandMemory::supported())
    return refused(EOPNOTSUPP, ReasonId::on_demand_paging);
  return {};
}

/// ibv_reg_mr(3): address 0 and length SIZE_MAX, the whole address space ("implicit").
bool is_implicit(const KeyEntry& entry) {
  return (entry.access & IBV_ACCESS_ON_DEMAND) != 0 && entry.base == nullptr && entry.length == SIZE_MAX;
}

Expected<void, Failure> check_range(const KeyEntry& entry) {
  if (is_implicit(entry)) return {};
  const auto address = reinterpret_cast<std::uintptr_t>(entry.base);
  const bool wraps = address + entry.length < address || entry.start + entry.length < entry.start;
  if (wraps || entry.length > limits::kMaxMrBytes) {
    return refused(EINVAL, ReasonId::bad_length, entry.length, limits::kMaxMrBytes);
  }
  if ((entry.access & IBV_ACCESS_ON_DEMAND) != 0) return {};  // looked at when it is used
  const bool writable = (entry.access & IBV_ACCESS_LOCAL_WRITE) != 0;
  if (entry.length != 0 && !is_mapped(entry.base, entry.length, writable)) {
    return refused(EFAULT, ReasonId::memory_not_mapped, address, entry.length);
  }
  return {};
}

Expected<void, Failure> check(const KeyEntry& entry) {
  if (auto ok = check_access(entry.access); !ok) return ok;
  return check_range(entry);
}

constexpr std::uint32_t kDmabufAccess =
    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;

// ibv_reg_mr(3).
Expected<void, Failure> check_dmabuf(const DmabufRegistration& wanted) {
  if (((wanted.offset ^ wanted.iova) & (static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)) - 1)) != 0)
    return refused(EINVAL, ReasonId::dmabuf_iova, wanted.iova, wanted.offset);
  if ((wanted.access & ~kDmabufAccess) != 0)
    return refused(EINVAL, ReasonId::dmabuf_access, wanted.access & ~kDmabufAccess);
  return check_access(wanted.access | IBV_ACCESS_ON_DEMAND);
}

void set_translation(KeyEntry& entry, const Registration& wanted) {
  entry.base = static_cast<std::byte*>(wanted.address);
  entry.length = wanted.length;
  entry.start = wanted.iova;
}

}  // namespace

Expected<std::unique_ptr<MemoryRegion>, Failure> MemoryRegion::create(ProtectionDomain& pd,
                                                                      const Registration& wanted) {
  std::unique_ptr<MemoryRegion> region(new MemoryRegion(pd));
  region->entry_ = std::make_unique<KeyEntry>();
  KeyEntry& entry = *region->entry_;
  entry.pd = &pd.root();
  entry.windows = &region->windows_;
  entry.access = wanted.access;
  set_translation(entry, wanted);
  if ((wanted.access & IBV_ACCESS_ZERO_BASED) != 0) entry.start = 0;
  if (auto ok = check(entry); !ok) return Unexpected{ok.error()};
  if (auto ok = region->enter(); !ok) return Unexpected{ok.error()};
  region->device_memory_ = wanted.device_memory;
  if (wanted.device_memory != nullptr) wanted.device_memory->add();
  return region;
}

Expected<std::unique_ptr<MemoryRegion>, Failure> MemoryRegion::create_null(ProtectionDomain& pd) {
  const NullMemory* const memory = NullMemory::process();
  if (memory == nullptr) return refused(ENOMEM, ReasonId::out_of_memory, 2 * NullMemory::kBytes);
  std::unique_ptr<MemoryRegion> region(new MemoryRegion(pd));
  region->entry_ = std::make_unique<KeyEntry>();
  KeyEntry& entry = *region->entry_;
  entry.pd = &pd.root();
  entry.base = memory->zeros();
  entry.is_null = true;
  if (auto ok = region->enter(); !ok) return Unexpected{ok.error()};
  return region;
}

Expected<std::unique_ptr<MemoryRegion>, Failure> MemoryRegion::create_dmabuf(
    ProtectionDomain& pd, const DmabufRegistration& wanted) {
  if (auto ok = check_dmabuf(wanted); !ok) return Unexpected{ok.error()};
  auto mapping = DmabufMapping::create({.fd = wanted.fd,
                                        .offset = wanted.offset,
                                        .length = wanted.length,
                                        .writable = (wanted.access & IBV_ACCESS_LOCAL_WRITE) != 0});
  if (!mapping) return Unexpected{mapping.error()};
  auto region = create(pd, {.address = (*mapping)->bytes(),
                            .length = wanted.length,
                            .iova = wanted.iova,
                            .access = wanted.access | IBV_ACCESS_ON_DEMAND});
  if (region) (*region)->dmabuf_ = std::move(*mapping);
  return region;
}

bool MemoryRegion::may_be_reregistered() const {
  return !entry_->is_null && device_memory_ == nullptr && dmabuf_ == nullptr;
}

// Its key can be used from now on.
Expected<void, Failure> MemoryRegion::enter() {
  auto& count = pd_->context().counts.mrs;
  if (count.users() >= limits::kMaxMrs || !KeyTable::process().insert(*entry_))
    return refused(ENOMEM, ReasonId::too_many_objects, limits::kMaxMrs, ObjectKind::mr);
  pd_->uses.add();
  count.add();
  return {};
}

Unexpected<Failure> MemoryRegion::has_windows() const {
  return refused(EBUSY, ReasonId::region_has_windows, key().value, windows_.users());
}

Expected<void, Failure> MemoryRegion::reregister(int flags, ProtectionDomain* pd,
                                                 const Registration& wanted) {
  const bool move = (flags & IBV_REREG_MR_CHANGE_PD) != 0;
  if ((flags & ~IBV_REREG_MR_FLAGS_SUPPORTED) != 0 || flags == 0 || (move && pd == nullptr) ||
      (move && &pd->context() != &pd_->context()) || !may_be_reregistered()) {
    return refused(EINVAL, ReasonId::bad_mr_rereg, flags);
  }
  auto entry = std::make_unique<KeyEntry>(*entry_);
  if ((flags & IBV_REREG_MR_CHANGE_TRANSLATION) != 0) set_translation(*entry, wanted);
  if ((flags & IBV_REREG_MR_CHANGE_ACCESS) != 0) entry->access = wanted.access;
  if ((entry->access & IBV_ACCESS_ZERO_BASED) != 0) entry->start = 0;
  if (move) entry->pd = &pd->root();
  if (auto ok = check(*entry); !ok) return ok;
  if (!KeyTable::process().replace(*entry)) return has_windows();
  pd_->context().lanes().quiesce_all();  // afterwards nobody looks at the old entry
  entry_ = std::move(entry);
  if (move) {
    pd_->uses.release();
    pd->uses.add();
    pd_ = pd;
  }
  return {};
}

Expected<void, Failure> MemoryRegion::destroy() {
  if (!KeyTable::process().remove(key())) return has_windows();
  pd_->context().lanes().quiesce_all();
  pd_->uses.release();
  pd_->context().counts.mrs.release();
  if (device_memory_ != nullptr) device_memory_->release();
  return {};
}

}  // namespace softrnic::rnic
