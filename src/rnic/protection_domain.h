// A protection domain: what keeps the keys and queues of one group of objects from those of another. A parent
// domain (ibv_alloc_parent_domain(3)) is another face of one: its keys are the same, and what is made with it
// may use a thread domain, and memory of the program.
#pragma once

#include <memory>

#include "base/expected.h"
#include "base/queue_memory.h"
#include "base/reason.h"
#include "rnic/object.h"

namespace softrnic::rnic {

class Context;

/// A program's promise that what is made with it is used by one thread at a time (ibv_alloc_td(3)).
class ThreadDomain {
 public:
  explicit ThreadDomain(Context& context) : context_(context) {}
  Context& context() const { return context_; }
  /// EBUSY while parent domains use it; delete the object afterwards.
  Expected<void, Failure> destroy() const;
  UseCount uses;

 private:
  Context& context_;
};

class ProtectionDomain {
 public:
  /// ENOMEM beyond the device's limit.
  static Expected<std::unique_ptr<ProtectionDomain>, Failure> create(Context& context);
  /// A parent domain of `of`. `thread` and `source` may be nullptr; `source` outlives it. ENOMEM as above;
  /// EINVAL: `thread` is another device's.
  static Expected<std::unique_ptr<ProtectionDomain>, Failure> create_parent(ProtectionDomain& of,
                                                                            ThreadDomain* thread,
                                                                            MemorySource* source);
  /// EBUSY while MRs, MWs, QPs, SRQs, AHs, CQs or parent domains use it; delete the object afterwards.
  Expected<void, Failure> destroy();

  Context& context() const { return context_; }
  /// What keys are compared by.
  const ProtectionDomain& root() const { return of_ != nullptr ? of_->root() : *this; }
  /// Where queues that are made with it have their memory from; nullptr: from the adapter.
  MemorySource* memory_source() const { return source_; }
  /// One thread at a time uses what is made with it.
  bool single_threaded() const { return thread_ != nullptr; }
  UseCount uses;

 private:
  ProtectionDomain(Context& context, ProtectionDomain* of, ThreadDomain* thread, MemorySource* source)
      : context_(context), of_(of), thread_(thread), source_(source) {}

  Context& context_;
  ProtectionDomain* const of_;  ///< nullptr: it is none
  ThreadDomain* const thread_;
  MemorySource* const source_;
};

}  // namespace softrnic::rnic
