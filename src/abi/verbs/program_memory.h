// Memory that a program allocates for the queues of its parent domains (ibv_alloc_parent_domain(3)).
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>

#include "base/queue_memory.h"

namespace softrnic::abi {

/// Of one parent domain. What the program leaves to us (IBV_ALLOCATOR_USE_DEFAULT) is ours to free.
class ProgramMemory final : public MemorySource {
 public:
  /// `attributes` has both functions. The domain is not there yet: told by belongs_to().
  explicit ProgramMemory(const ibv_parent_domain_init_attr& attributes)
      : alloc_(attributes.alloc),
        free_(attributes.free),
        context_((attributes.comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT) != 0 ? attributes.pd_context
                                                                                      : nullptr) {}
  void belongs_to(ibv_pd* domain) { domain_ = domain; }

  void* allocate(std::size_t size, std::size_t alignment, QueueKind kind) override;
  void free(void* memory, QueueKind kind) override;

 private:
  using Alloc = decltype(ibv_parent_domain_init_attr::alloc);
  using Free = decltype(ibv_parent_domain_init_attr::free);

  const Alloc alloc_;
  const Free free_;
  void* const context_;
  ibv_pd* domain_ = nullptr;
};

}  // namespace softrnic::abi
