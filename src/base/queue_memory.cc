#include "base/queue_memory.h"

#include <cstdlib>

namespace softrnic {

// aligned_alloc, as malloc, takes big pieces from the kernel as pages that are there only once they are used.
QueueMemory::QueueMemory(std::size_t size, MemorySource* source, QueueKind kind)
    : source_(source), kind_(kind) {
  if (size > SIZE_MAX - kAlignment) return;
  const std::size_t whole = (size + kAlignment - 1) / kAlignment * kAlignment;
  memory_ =
      source != nullptr ? source->allocate(whole, kAlignment, kind) : std::aligned_alloc(kAlignment, whole);
}

QueueMemory::~QueueMemory() {
  if (memory_ == nullptr) return;
  if (source_ != nullptr) {
    source_->free(memory_, kind_);
  } else {
    std::free(memory_);
  }
}

}  // namespace softrnic
