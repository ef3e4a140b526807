// A registered memory region.
#pragma once

#include <infiniband/verbs.h>

#include <memory>

#include "base/expected.h"
#include "base/reason.h"
#include "base/strong.h"
#include "rnic/dmabuf_mapping.h"
#include "rnic/key_table.h"

namespace softrnic::rnic {

class ProtectionDomain;

/// Of ibv_reg_dmabuf_mr.
struct DmabufRegistration {
  int fd = -1;
  std::uint64_t offset = 0;  ///< of the region in the dma-buf
  std::uint64_t length = 0;
  std::uint64_t iova = 0;
  std::uint32_t access = 0;  ///< enum ibv_access_flags
};

struct Registration {
  void* address = nullptr;
  std::uint64_t length = 0;           ///< 0 is allowed
  std::uint64_t iova = 0;             ///< how peers and SGEs name the first byte; ibv_reg_mr: the address
  std::uint32_t access = 0;           ///< enum ibv_access_flags
  UseCount* device_memory = nullptr;  ///< DeviceMemory::uses of the one that it lies in
};

class MemoryRegion {
 public:
  /// EINVAL: access flags or length; EFAULT: not mapped, or not writable though LOCAL_WRITE is asked
  /// for; EOPNOTSUPP: IBV_ACCESS_ON_DEMAND where OnDemandMemory is not supported; ENOMEM. ZERO_BASED makes
  /// iova 0; HUGETLB, MW_BIND and the optional flags are accepted. Memory that is unmapped later is the
  /// program's fault, unless it is registered with ON_DEMAND, as is memory of a forked child.
  static Expected<std::unique_ptr<MemoryRegion>, Failure> create(ProtectionDomain& pd,
                                                                 const Registration& wanted);

  /// ibv_alloc_null_mr: reads give zeros, writes come to nothing, at any address; peers do not reach it.
  static Expected<std::unique_ptr<MemoryRegion>, Failure> create_null(ProtectionDomain& pd);

  /// ibv_reg_dmabuf_mr. Bytes are moved as those of regions with on-demand paging are: the kernel copies, as
  /// it may also where no other process can be let in, and nobody is killed if the exporter takes memory
  /// away. Fails as DmabufMapping::create() does; EINVAL: access flags, an iova whose offset in its page is
  /// not the region's; EOPNOTSUPP: OnDemandMemory is not supported.
  static Expected<std::unique_ptr<MemoryRegion>, Failure> create_dmabuf(ProtectionDomain& pd,
                                                                        const DmabufRegistration& wanted);

  /// ibv_rereg_mr; EINVAL: a null region, or one in device memory or a dma-buf. On failure the region stays
  /// as it was. `pd` may be null when CHANGE_PD is not in `flags`; address, length and iova count with
  /// CHANGE_TRANSLATION, access with CHANGE_ACCESS. The key stays the same. EBUSY: windows are bound to it.
  Expected<void, Failure> reregister(int flags, ProtectionDomain* pd, const Registration& wanted);

  /// Takes the key away and waits until no lane uses the region. Delete the object afterwards. EBUSY: windows
  /// are bound to it.
  Expected<void, Failure> destroy();

  MemoryKey key() const { return entry_->key; }  ///< lkey and rkey
  const KeyEntry& entry() const { return *entry_; }
  ProtectionDomain& pd() const { return *pd_; }

 private:
  explicit MemoryRegion(ProtectionDomain& pd) : pd_(&pd) {}
  Unexpected<Failure> has_windows() const;
  Expected<void, Failure> enter();
  bool may_be_reregistered() const;

  ProtectionDomain* pd_;
  UseCount* device_memory_ = nullptr;
  std::unique_ptr<DmabufMapping> dmabuf_;  ///< as long as the region lives
  UseCount windows_;                       ///< bound to it; changes with the lock of the key table held
  std::unique_ptr<KeyEntry> entry_;
};

}  // namespace softrnic::rnic
