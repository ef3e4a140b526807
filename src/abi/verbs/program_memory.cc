#include "abi/verbs/program_memory.h"

#include <cstdint>
#include <cstdlib>
#include <new>

namespace softrnic::abi {
namespace {

// Stands before each piece, and is asked for along with it: free() has to know whose it is.
struct alignas(QueueMemory::kAlignment) Mark {
  void* program = nullptr;  ///< what the program has allocated; nullptr: it is ours
};
static_assert(sizeof(Mark) == QueueMemory::kAlignment);

}  // namespace

void* ProgramMemory::allocate(std::size_t size, std::size_t alignment, QueueKind kind) {
  if (alignment > alignof(Mark) || size > SIZE_MAX - sizeof(Mark)) return nullptr;
  const std::size_t whole = size + sizeof(Mark);
  void* const program = alloc_(domain_, context_, whole, alignof(Mark), static_cast<std::uint64_t>(kind));
  const bool is_ours = program == IBV_ALLOCATOR_USE_DEFAULT;
  void* const piece = is_ours ? std::aligned_alloc(alignof(Mark), whole) : program;
  if (piece == nullptr) return nullptr;
  if (reinterpret_cast<std::uintptr_t>(piece) % alignof(Mark) != 0) {  // not as it was asked for
    free_(domain_, context_, program, static_cast<std::uint64_t>(kind));
    return nullptr;
  }
  return new (piece) Mark{is_ours ? nullptr : program} + 1;
}

void ProgramMemory::free(void* memory, QueueKind kind) {
  Mark* const mark = static_cast<Mark*>(memory) - 1;
  if (mark->program == nullptr) return std::free(mark);
  free_(domain_, context_, mark->program, static_cast<std::uint64_t>(kind));
}

}  // namespace softrnic::abi
