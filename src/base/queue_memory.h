// The memory of queues, of which a program may be the source (ibv_alloc_parent_domain(3)).
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

namespace softrnic {

/// What a piece of memory is for; a program is told the number.
enum class QueueKind : std::uint32_t { send = 1, receive = 2, completion = 3, shared_receive = 4 };

/// Calls code of the program: with no lock held.
class MemorySource {
 public:
  /// nullptr: there is none. `alignment`: a power of two.
  virtual void* allocate(std::size_t size, std::size_t alignment, QueueKind kind) = 0;
  virtual void free(void* memory, QueueKind kind) = 0;

 protected:
  ~MemorySource() = default;
};

/// One piece. It is touched as it is used, and not zero at the beginning.
class QueueMemory {
 public:
  static constexpr std::size_t kAlignment = 64;

  /// None.
  QueueMemory() = default;
  /// `source`: nullptr, or who has it, and outlives this object. get() is nullptr when there is none.
  QueueMemory(std::size_t size, MemorySource* source, QueueKind kind);
  QueueMemory(QueueMemory&& other) noexcept { *this = std::move(other); }
  QueueMemory& operator=(QueueMemory&& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(source_, other.source_);
    std::swap(kind_, other.kind_);
    return *this;
  }
  ~QueueMemory();

  std::byte* get() const { return static_cast<std::byte*>(memory_); }

 private:
  void* memory_ = nullptr;
  MemorySource* source_ = nullptr;
  QueueKind kind_{};
};

}  // namespace softrnic
