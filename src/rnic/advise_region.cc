#include "rnic/advise_region.h"

#include <cerrno>
#include <mutex>

#include "base/reason_id.h"
#include "base/reason_words.h"
#include "rnic/key_table.h"
#include "rnic/on_demand_memory.h"
#include "rnic/protection_domain.h"
#include "rnic/refusal.h"

namespace softrnic::rnic {
namespace {

Expected<ib::HostMemory, Failure> find(const ProtectionDomain& pd, const ibv_sge& range, bool to_write) {
  KeyTable& keys = KeyTable::process();
  const std::lock_guard lock(keys.mutex());  // no region goes while it is looked at
  const std::uint32_t access = to_write ? std::uint32_t{IBV_ACCESS_LOCAL_WRITE} : 0;
  const auto memory = keys.local(&pd.root(), MemoryKey(range.lkey), range.addr, range.length, access);
  if (!memory) return refused(Failure{EFAULT, memory.error()});
  return *memory;
}

bool is_known(ibv_advise_mr_advice advice) {
  return advice == IBV_ADVISE_MR_ADVICE_PREFETCH || advice == IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE ||
         advice == IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT;
}

}  // namespace

Expected<void, Failure> advise(const ProtectionDomain& pd, ibv_advise_mr_advice advice, std::uint32_t flags,
                               std::span<const ibv_sge> ranges) {
  if (!is_known(advice)) return refused(EOPNOTSUPP, ReasonId::bad_mr_advice, advice, flags);
  if ((flags & ~std::uint32_t{IBV_ADVISE_MR_FLAG_FLUSH}) != 0 || ranges.empty())
    return refused(EINVAL, ReasonId::bad_mr_advice, advice, flags);
  const bool to_write = advice == IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE;
  for (const ibv_sge& range : ranges) {
    if (range.length == 0) continue;
    const auto memory = find(pd, range, to_write);
    if (!memory) return Unexpected{memory.error()};
    if (!memory->on_demand) return refused(EFAULT, ReasonId::region_not_on_demand, range.lkey);
    if (advice == IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT) continue;
    const auto address = reinterpret_cast<std::uintptr_t>(memory->at);
    if (!OnDemandMemory::prefetch(address, range.length, to_write) && (flags & IBV_ADVISE_MR_FLAG_FLUSH) != 0)
      return refused(EFAULT, ReasonId::page_missing, range.length, address);
  }
  return {};
}

}  // namespace softrnic::rnic
