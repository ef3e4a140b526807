// Memory that a program may map and unmap while it is registered (IBV_ACCESS_ON_DEMAND). An adapter with
// on-demand paging has the kernel resolve its page faults; here the kernel copies, and says when nothing is
// there. That costs a system call for each piece, and nobody is killed by a fault.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "transport/ib/host.h"

namespace softrnic::rnic {

class OnDemandMemory {
 public:
  /// Whether the kernel lets this process copy so: a seccomp filter may forbid process_vm_readv(2) and
  /// process_vm_writev(2).
  static bool supported();

  /// False: not all of it is mapped, or readable, or writable. Then some of it may have been copied.
  static bool read(std::byte* to, const std::byte* from, std::size_t size);
  static bool write(std::byte* to, const std::byte* from, std::size_t size);

  /// On a word; nothing: it is not there. Atomic among all such operations of this process, not with
  /// instructions of the program: IBV_ATOMIC_HCA promises no more.
  static std::optional<std::uint64_t> execute(std::byte* word, const ib::AtomicOperation& operation);

  /// Has the kernel bring pages in: those that hold [address, address + length), length > 0. False: some are
  /// not mapped, or not to be had so.
  static bool prefetch(std::uint64_t address, std::uint64_t length, bool to_write);
};

/// Where a queue pair keeps bytes on their way from there to a packet.
class BounceBuffer {
 public:
  /// The same one until more is asked for; nullptr: out of memory.
  std::byte* of(std::size_t size);

 private:
  std::unique_ptr<std::byte[]> bytes_;
  std::size_t size_ = 0;
};

}  // namespace softrnic::rnic
