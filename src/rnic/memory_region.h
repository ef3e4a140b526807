// A registered memory region.
#pragma once

#include <infiniband/verbs.h>

#include <memory>

#include "base/expected.h"
#include "base/reason.h"
#include "base/strong.h"
#include "rnic/key_table.h"

namespace softrnic::rnic {

class ProtectionDomain;

struct Registration {
  void* address = nullptr;
  std::uint64_t length = 0;  ///< 0 is allowed
  std::uint64_t iova = 0;    ///< how peers and SGEs name the first byte; ibv_reg_mr: the address
  std::uint32_t access = 0;  ///< enum ibv_access_flags
};

class MemoryRegion {
 public:
  /// EINVAL: access flags or length; EFAULT: not mapped, or not writable though LOCAL_WRITE is asked
  /// for; EOPNOTSUPP: IBV_ACCESS_ON_DEMAND; ENOMEM. IBV_ACCESS_ZERO_BASED makes iova 0; HUGETLB, MW_BIND
  /// and the optional flags are accepted. Memory that is unmapped later is the program's fault, as is
  /// memory of a forked child.
  static Expected<std::unique_ptr<MemoryRegion>, Failure> create(ProtectionDomain& pd,
                                                                 const Registration& wanted);

  /// ibv_rereg_mr. On failure the region stays as it was. `pd` may be null when CHANGE_PD is not
  /// in `flags`; address, length and iova count with CHANGE_TRANSLATION, access with
  /// CHANGE_ACCESS. The key stays the same.
  Expected<void, Failure> reregister(int flags, ProtectionDomain* pd, const Registration& wanted);

  /// Takes the key away and waits until no lane uses the region. Delete the object afterwards.
  Expected<void, Failure> destroy();

  MemoryKey key() const { return entry_->key; }  ///< lkey and rkey
  const KeyEntry& entry() const { return *entry_; }
  ProtectionDomain& pd() const { return *pd_; }

 private:
  explicit MemoryRegion(ProtectionDomain& pd) : pd_(&pd) {}

  ProtectionDomain* pd_;
  std::unique_ptr<KeyEntry> entry_;
};

}  // namespace softrnic::rnic
