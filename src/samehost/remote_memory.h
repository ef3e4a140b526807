// The memory of another process of this host, read and written by cross-memory attach.
//
// The kernel's calls name a process by its number, and a number is given to another process when the first is
// gone; no look at the process beforehand can rule that out. Two things can:
//
//   /proc/PID/mem, opened once, belongs to the address space and not to the number. It costs less than
//   process_vm_readv(2) for small pieces, and twice as much for large ones.
//
//   A cookie: a page of the process at an address that it chose at random (2^34 places) and that no child
//   inherits. A
//   process_vm_readv/writev begins with it, and the kernel looks the process up once for all places of a
//   call: in an
//   address space that has no cookie there it fails before anything was touched. It costs as much as two
//   pages more.
//
// The kernel copies by the string instruction, which crawls between places of an unlucky alignment
// (base/memory_copy.h): there the bytes go by a buffer that is aligned as the other's memory is.
//
// Reads can do without the cookie where the process has a thread that keeps a robust mutex (its life): the
// kernel marks that as the thread ends, be it by exec(), and gives the number away only when all threads are
// gone. So who finds the mutex held after the call has read the right memory, and what else has been read is
// not used. For writes a look afterwards is too late.
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "base/expected.h"
#include "base/unique_fd.h"
#include "samehost/revocable_access.h"
#include "samehost/robust_mutex.h"
#include "transport/ib/host.h"

namespace softrnic::samehost {

/// What a process publishes so that others may reach its memory.
struct CookieAddress {
  std::uint64_t address = 0;
  std::uint64_t secret = 0;  ///< stands there
  /// Of the file that says so, and whoever looks there knows that by itself; see Cookie::bind().
  std::uint64_t file_number = 0;
};

/// The inode number of a file: among memfds no two have the same. 0: there is none.
std::uint64_t file_number(int fd);

/// The cookie of this process; closed, for everybody at once, with this object.
class Cookie {
 public:
  /// A positive errno: no memory.
  static Expected<Cookie, int> open();
  ~Cookie();
  Cookie(Cookie&& other) noexcept : page_(other.page_) { other.page_ = nullptr; }
  Cookie& operator=(Cookie&&) = delete;

  CookieAddress address() const;
  /// Says at the cookie which file belongs to this process: one of another process could name this cookie, so
  /// that others write here what was meant for that process.
  void bind(std::uint64_t file_number);
  /// In a forked child, which has no cookie.
  void forget() { page_ = nullptr; }

 private:
  explicit Cookie(void* page) : page_(page) {}
  void* page_;
};

class RemoteMemory {
 public:
  /// A positive errno: the kernel does not let this process at the memory of that one (EPERM, EACCES: ptrace
  /// rules; ENOSYS: seccomp), or no process of that number has this cookie (ESRCH).
  static Expected<RemoteMemory, int> open(pid_t pid, const CookieAddress& cookie);
  /// The memory of this process. With `revocation`: what it has mapped of another one, which
  /// can revoke every access.
  static RemoteMemory own(const Revocation& revocation = {}) {
    RemoteMemory memory;
    memory.revocation_ = revocation;
    return memory;
  }
  /// From now on every access can be revoked, if they can at all here (revocable_access.h).
  void let_revoke(const Revocation& revocation) { revocation_ = revocation; }
  /// Of the process that open() has found: lives as long as this object, and nobody else ever takes it.
  void set_life(const RobustMutex& life) { life_ = &life; }

  static constexpr std::size_t kMaxPieces = 32;

  /// Copies all of `local`, at most kMaxPieces, from or to `remote`. False: not everything was; what
  /// a read has left in `local` may be anything that this process could read. The last bytes of a
  /// write become visible last.
  bool read(std::span<const iovec> local, std::uint64_t remote, std::size_t bytes) const;
  bool write(std::span<const iovec> local, std::uint64_t remote, std::size_t bytes) const;
  /// read() to memory that a program may be polling: the last bytes become visible last,
  /// and only if they are right.
  bool fetch(std::byte* local, std::uint64_t remote, std::size_t bytes) const;
  /// Executes an atomic operation; the value before. By attach it is atomic only for those who take a lock
  /// for it, and ATOMIC WRITE, which readers without a lock rely on, is not done. Nothing: not executed.
  std::optional<std::uint64_t> execute(std::uint64_t remote, const ib::AtomicOperation& operation) const;

 private:
  class BounceBuffer;

  RemoteMemory() = default;
  bool is_own() const { return pid_ == 0; }
  long call(long number, std::span<const iovec> local, std::span<const iovec> remote) const;
  bool read_by(const BounceBuffer& bounce, std::byte* local, std::uint64_t remote, std::size_t bytes) const;
  bool write_by(const BounceBuffer& bounce, const std::byte* local, std::uint64_t remote,
                std::size_t bytes) const;
  bool attach_read(std::span<const iovec> local, std::uint64_t remote, std::size_t bytes) const;
  bool read_by_cookie(std::span<const iovec> local, std::uint64_t remote, std::size_t bytes) const;
  bool attach_write(std::span<const iovec> local, std::uint64_t remote, std::size_t bytes) const;

  pid_t pid_ = 0;  ///< 0: this process
  CookieAddress cookie_;
  Revocation revocation_;
  const RobustMutex* life_ = nullptr;  ///< may be missing
  UniqueFd memory_;                    ///< /proc/PID/mem; may be missing
};

}  // namespace softrnic::samehost
