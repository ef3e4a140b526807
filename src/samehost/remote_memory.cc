#include "samehost/remote_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <new>
#include <string>

#include "base/memory_copy.h"
#include "transport/ib/ordered_copy.h"

namespace softrnic::samehost {
namespace {

constexpr std::size_t kCookieBytes = 4096;
constexpr std::uint64_t kLowestCookie = 0x1000'0000'0000;
constexpr std::uint64_t kCookies = 0x6000'0000'0000 / kCookieBytes;
/// Something may lie there already: a sanitizer's heap is a twentieth of all places
constexpr int kWishes = 16;
/// Up to here one copy through a page of the kernel's is faster than the search for two places.
constexpr std::size_t kSmallRead = 4096;
/// Processors may reorder the stores of a longer string instruction, and programs wait for the last byte.
constexpr std::size_t kSmallWrite = 63;

#ifdef __SANITIZE_THREAD__
constexpr bool kAddressesAreGiven = true;  ///< the sanitizer heeds no hint of mmap()
#else
constexpr bool kAddressesAreGiven = false;
#endif

/// The cookie page: what readers compare, and where writers write.
struct CookiePage {
  std::uint64_t secret;
  std::uint64_t file_number;
  std::uint64_t scratch;
};

bool random_numbers(std::span<std::uint64_t> out) {
  return getrandom(out.data(), out.size_bytes(), GRND_NONBLOCK) == static_cast<ssize_t>(out.size_bytes());
}

/// The bytes at the end of a write that are stored as one word.
std::size_t word_at_end(std::uint64_t end) {
  for (const std::size_t word : {8U, 4U, 2U}) {
    if (end % word == 0) return word;
  }
  return 1;
}

iovec place(std::uint64_t address, std::size_t bytes) { return {reinterpret_cast<void*>(address), bytes}; }

long word_of(const void* place) { return reinterpret_cast<long>(place); }

/// Whether the kernel would; it copies page by page.
bool crawls(std::uint64_t to, std::uint64_t from, std::size_t bytes) {
  return bytes >= kStringCopyBytes && string_copy_crawls(to, from);
}

std::uint64_t address_of(const void* place) { return reinterpret_cast<std::uint64_t>(place); }

std::byte* at(const iovec& piece) { return static_cast<std::byte*>(piece.iov_base); }

}  // namespace

// ---- the cookie of this process

Expected<Cookie, int> Cookie::open() {
  std::array<std::uint64_t, 2> dice{};
  for (int left = kWishes; left > 0; --left) {
    if (!random_numbers(dice)) return Unexpected{EAGAIN};
    void* const request = reinterpret_cast<void*>(kLowestCookie + dice[0] % kCookies * kCookieBytes);
    // not MAP_FIXED, which would map over what lies there
    void* const page =
        mmap(request, kCookieBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) return Unexpected{errno};
    const bool random = page == request || kAddressesAreGiven;
    if (random && madvise(page, kCookieBytes, MADV_DONTFORK) == 0) {
      static_cast<CookiePage*>(page)->secret = dice[1];
      return Cookie(page);
    }
    const int error = errno;
    munmap(page, kCookieBytes);
    if (random) return Unexpected{error};
  }
  return Unexpected{EADDRNOTAVAIL};
}

Cookie::~Cookie() {
  if (page_ != nullptr) munmap(page_, kCookieBytes);
}

CookieAddress Cookie::address() const {
  const auto& page = *static_cast<const CookiePage*>(page_);
  return {reinterpret_cast<std::uint64_t>(page_), page.secret, page.file_number};
}

void Cookie::bind(std::uint64_t file_number) { static_cast<CookiePage*>(page_)->file_number = file_number; }

std::uint64_t file_number(int fd) {
  struct stat status {};
  return fstat(fd, &status) == 0 ? status.st_ino : 0;
}

// ---- the memory of others

Expected<RemoteMemory, int> RemoteMemory::open(pid_t pid, const CookieAddress& cookie) {
  if (pid <= 0) return Unexpected{ESRCH};
  RemoteMemory memory;
  memory.pid_ = pid;
  memory.cookie_ = cookie;
  std::uint64_t probe = 0;
  const iovec local{&probe, sizeof probe};
  errno = ESRCH;
  if (!memory.attach_read({&local, 1}, cookie.address + offsetof(CookiePage, file_number), sizeof probe))
    return Unexpected{errno};
  if (probe != cookie.file_number) return Unexpected{ESRCH};
  if (!memory.attach_write({&local, 1}, cookie.address + offsetof(CookiePage, scratch), sizeof probe))
    return Unexpected{errno};
  const std::string path = "/proc/" + std::to_string(pid) + "/mem";
  memory.memory_.reset(above_stdio(::open(path.c_str(), O_RDWR | O_CLOEXEC)));
  // by now the number may be another's
  const auto offset = static_cast<off_t>(cookie.address);
  if (memory.memory_ &&
      (pread(memory.memory_.get(), &probe, sizeof probe, offset) != sizeof probe || probe != cookie.secret))
    memory.memory_.reset();
  return memory;
}

/// Lies within its pages as other memory does.
class RemoteMemory::BounceBuffer {
 public:
  static constexpr std::size_t kBytes = 64 * 1024;

  explicit BounceBuffer(std::uint64_t as)
      : buffer_(new (std::nothrow) std::byte[kBytes + kPage]),
        bytes_(buffer_ == nullptr ? nullptr
                                  : &buffer_[(as - reinterpret_cast<std::uint64_t>(&buffer_[0])) % kPage]) {}
  /// kBytes of them; nullptr: there is no memory.
  std::byte* bytes() const { return bytes_; }

 private:
  static constexpr std::size_t kPage = 4096;
  std::unique_ptr<std::byte[]> buffer_;
  std::byte* bytes_;
};

bool RemoteMemory::read(std::span<const iovec> local, std::uint64_t remote, std::size_t bytes) const {
  if (is_own()) {
    for (const iovec& piece : local) {
      if (!revocable_copy(at(piece), reinterpret_cast<const std::byte*>(remote), piece.iov_len, revocation_))
        return false;
      remote += piece.iov_len;
    }
    return true;
  }
  if (memory_ && bytes <= kSmallRead && local.size() == 1) {
    const long n = revocable_call(revocation_, SYS_pread64, memory_.get(), word_of(local[0].iov_base),
                                  static_cast<long>(bytes), static_cast<long>(remote));
    return n == static_cast<long>(bytes);
  }
  if (local.size() == 1 && crawls(address_of(local[0].iov_base), remote, bytes))
    return fetch(at(local[0]), remote, bytes);
  return attach_read(local, remote, bytes);
}

bool RemoteMemory::write(std::span<const iovec> local, std::uint64_t remote, std::size_t bytes) const {
  if (is_own()) {
    for (const iovec& piece : local) {
      if (!revocable_copy(reinterpret_cast<std::byte*>(remote), at(piece), piece.iov_len, revocation_))
        return false;
      remote += piece.iov_len;
    }
    return true;
  }
  if (memory_ && bytes <= kSmallWrite && local.size() == 1) {
    const long n = revocable_call(revocation_, SYS_pwrite64, memory_.get(), word_of(local[0].iov_base),
                                  static_cast<long>(bytes), static_cast<long>(remote));
    return n == static_cast<long>(bytes);
  }
  if (local.size() == 1 && crawls(remote, address_of(local[0].iov_base), bytes))
    if (const BounceBuffer bounce(remote); bounce.bytes() != nullptr)
      return write_by(bounce, at(local[0]), remote, bytes);
  return attach_write(local, remote, bytes);
}

bool RemoteMemory::fetch(std::byte* local, std::uint64_t remote, std::size_t bytes) const {
  if (is_own()) {
    const iovec place{local, bytes};
    return read({&place, 1}, remote, bytes);
  }
  if (crawls(address_of(local), remote, bytes))
    if (const BounceBuffer bounce(remote); bounce.bytes() != nullptr)
      return read_by(bounce, local, remote, bytes);
  const std::size_t word = std::min(bytes, word_at_end(address_of(local) + bytes));
  std::array<std::byte, sizeof(std::uint64_t)> end;
  const iovec places[] = {{local, bytes - word}, {end.data(), word}};
  if (!attach_read(places, remote, bytes)) return false;
  ib::ordered_copy(local + bytes - word, end.data(), word);
  return true;
}

std::optional<std::uint64_t> RemoteMemory::execute(std::uint64_t remote,
                                                   const ib::AtomicOperation& operation) const {
  if (is_own()) return revocable_execute(reinterpret_cast<std::uint64_t*>(remote), operation, revocation_);
  if (operation.kind == ib::AtomicKind::write) return std::nullopt;  // the kernel may copy byte by byte
  std::uint64_t before = 0;
  const iovec here{&before, sizeof before};
  if (!read({&here, 1}, remote, sizeof before)) return std::nullopt;
  std::uint64_t after = before;
  ib::execute(&after, operation);
  const iovec there{&after, sizeof after};
  if (after != before && !write({&there, 1}, remote, sizeof after)) return std::nullopt;
  return before;
}

bool RemoteMemory::read_by(const BounceBuffer& bounce, std::byte* local, std::uint64_t remote,
                           std::size_t bytes) const {
  for (std::size_t done = 0; done < bytes;) {
    const iovec piece{bounce.bytes(), std::min(bytes - done, BounceBuffer::kBytes)};
    if (!attach_read({&piece, 1}, remote + done, piece.iov_len)) return false;
    ib::ordered_copy(local + done, bounce.bytes(), piece.iov_len);
    done += piece.iov_len;
  }
  return true;
}

bool RemoteMemory::write_by(const BounceBuffer& bounce, const std::byte* local, std::uint64_t remote,
                            std::size_t bytes) const {
  for (std::size_t done = 0; done < bytes;) {
    const iovec piece{bounce.bytes(), std::min(bytes - done, BounceBuffer::kBytes)};
    copy_memory(bounce.bytes(), local + done, piece.iov_len);
    if (!attach_write({&piece, 1}, remote + done, piece.iov_len)) return false;
    done += piece.iov_len;
  }
  return true;
}

long RemoteMemory::call(long number, std::span<const iovec> local, std::span<const iovec> remote) const {
  return revocable_call(revocation_, number, pid_, word_of(local.data()), static_cast<long>(local.size()),
                        word_of(remote.data()), static_cast<long>(remote.size()), 0);
}

bool RemoteMemory::attach_read(std::span<const iovec> local, std::uint64_t remote, std::size_t bytes) const {
  if (life_ == nullptr || !life_->is_held()) return read_by_cookie(local, remote, bytes);
  if (local.size() > kMaxPieces) return false;
  const iovec there = place(remote, bytes);
  return call(SYS_process_vm_readv, local, {&there, 1}) == static_cast<long>(bytes) && life_->is_held();
}

bool RemoteMemory::read_by_cookie(std::span<const iovec> local, std::uint64_t remote,
                                  std::size_t bytes) const {
  std::array<iovec, kMaxPieces + 1> here;
  if (local.size() > kMaxPieces) return false;
  std::uint64_t secret = 0;
  here[0] = {&secret, sizeof secret};
  std::copy(local.begin(), local.end(), here.begin() + 1);
  const iovec there[] = {place(cookie_.address, sizeof secret), place(remote, bytes)};
  const long n = call(SYS_process_vm_readv, {here.data(), local.size() + 1}, there);
  return n == static_cast<long>(sizeof secret + bytes) && secret == cookie_.secret;
}

// The last word is a piece of its own: the kernel copies piece by piece.
bool RemoteMemory::attach_write(std::span<const iovec> local, std::uint64_t remote, std::size_t bytes) const {
  std::array<iovec, kMaxPieces + 2> here;
  if (local.empty() || local.size() > kMaxPieces) return false;
  std::uint64_t scratch = 0;
  here[0] = {&scratch, sizeof scratch};
  std::copy(local.begin(), local.end(), here.begin() + 1);
  std::size_t pieces = local.size() + 1;
  iovec& last = here[pieces - 1];
  const std::size_t word = word_at_end(remote + bytes);
  if (last.iov_len > word) {
    last.iov_len -= word;
    here[pieces++] = {at(last) + last.iov_len, word};
  }
  const iovec there[] = {place(cookie_.address + offsetof(CookiePage, scratch), sizeof scratch),
                         place(remote, bytes)};
  const long n = call(SYS_process_vm_writev, {here.data(), pieces}, there);
  return n == static_cast<long>(sizeof scratch + bytes);
}

}  // namespace softrnic::samehost
