// Access to the memory of others that they can revoke, even while this thread is stopped in the middle of it.
//
// Between the look at a permission and the access that follows a thread can be stopped for as long as anybody
// likes (SIGSTOP, a debugger), and would carry out the access then. Restartable sequences (rseq(2), which
// glibc registers for every thread) rule that out: when a thread was off the processor inside of such a
// sequence, the kernel lets it go on at its beginning. Here a sequence looks whether the owner has revoked
// this very access and then does the access, a system call at most as its very last instruction. So who has
// revoked it and knows that the thread is off the processor since need not wait for it: see is_stopped().
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "transport/ib/host.h"

namespace softrnic::samehost {

/// Two words that say whether accesses are revoked: they are while both are the same.
struct Revocation {
  const std::atomic<std::uint64_t>* revoked = nullptr;  ///< the owner's; nullptr: it will not revoke
  /// This side's: names the access that the accesses belong to
  const std::atomic<std::uint64_t>* access = nullptr;
};

/// Whether the accesses below can be revoked. Where the processor or the C library does without such
/// sequences, and under ThreadSanitizer, which would not see what they do, they are plain accesses.
bool accesses_are_revocable();

/// Copies between places that do not overlap; the last bytes become visible last, see ib::ordered_copy().
/// False: it was revoked before all was copied.
bool revocable_copy(std::byte* to, const std::byte* from, std::size_t bytes, const Revocation& revocation);

/// As ib::execute(). Nothing: it was revoked, and has not happened.
std::optional<std::uint64_t> revocable_execute(std::uint64_t* word, const ib::AtomicOperation& operation,
                                               const Revocation& revocation);

/// A system call of up to six arguments: as syscall(2); revoked: -1 and errno ECANCELED, and it was not made.
long revocable_call(const Revocation& revocation, long number, long a, long b, long c, long d, long e = 0,
                    long f = 0);

/// Whether the thread with that number is stopped by a signal or a debugger, off the processor, and in no
/// system call of the above: then it looks again whether it is revoked before it accesses anything, if that
/// was so before this was asked. False also when the kernel does not tell.
bool is_stopped(pid_t thread);
/// Names the PID namespace of this process, where the numbers of threads mean something; 0: nothing does.
std::uint32_t own_pid_space();

}  // namespace softrnic::samehost
