#include "rnic/mapped_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>

namespace softrnic::rnic {
namespace {

constexpr std::uint64_t kSmall = 1 << 20;

struct Range {
  std::uintptr_t begin;
  std::uintptr_t end;
};

Range pages_of(const void* address, std::uint64_t length) {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto start = reinterpret_cast<std::uintptr_t>(address);
  return {start & ~(page - 1), (start + length + page - 1) & ~(page - 1)};
}

/// Reads lines of /proc/self/maps; of each only "begin-end rw", the rest may be cut off.
class MapsReader {
 public:
  MapsReader() : fd_(open("/proc/self/maps", O_RDONLY | O_CLOEXEC)) {}
  ~MapsReader() {
    if (fd_ >= 0) close(fd_);
  }
  MapsReader(const MapsReader&) = delete;
  MapsReader& operator=(const MapsReader&) = delete;

  bool valid() const { return fd_ >= 0; }

  struct Mapping {
    Range range{};
    bool readable = false;
    bool writable = false;
  };

  /// False at the end.
  bool next(Mapping& out) {
    int c = 0;
    out = {};
    if (!number(out.range.begin) || !number(out.range.end)) return false;
    out.readable = get() == 'r';
    out.writable = get() == 'w';
    do c = get();
    while (c != '\n' && c >= 0);
    return true;
  }

 private:
  int get() {
    if (at_ == size_) {
      const ssize_t n = read(fd_, buffer_.data(), buffer_.size());
      at_ = 0;
      size_ = n > 0 ? static_cast<std::size_t>(n) : 0;
      if (size_ == 0) return -1;
    }
    return static_cast<unsigned char>(buffer_[at_++]);
  }

  /// A hexadecimal number and the character behind it.
  bool number(std::uintptr_t& out) {
    bool any = false;
    for (int c = get(); c >= 0; c = get()) {
      if (c >= '0' && c <= '9') {
        out = out * 16 + static_cast<std::uintptr_t>(c - '0');
      } else if (c >= 'a' && c <= 'f') {
        out = out * 16 + static_cast<std::uintptr_t>(c - 'a' + 10);
      } else {
        return any;
      }
      any = true;
    }
    return false;
  }

  int fd_;
  std::array<char, 8192> buffer_;
  std::size_t at_ = 0;
  std::size_t size_ = 0;
};

bool listed(const Range& wanted, bool writable) {
  MapsReader maps;
  if (!maps.valid()) return true;  // no /proc: msync() has to do
  std::uintptr_t covered = wanted.begin;
  for (MapsReader::Mapping m; covered < wanted.end && maps.next(m);) {
    if (m.range.end <= covered) continue;
    if (m.range.begin > covered || !m.readable || (writable && !m.writable)) return false;
    covered = m.range.end;
  }
  return covered >= wanted.end;
}

}  // namespace

bool is_mapped(const void* address, std::uint64_t length, bool writable) {
  const Range pages = pages_of(address, length);
  if (pages.end < pages.begin) return false;
  void* const start = reinterpret_cast<void*>(pages.begin);
  const std::size_t size = pages.end - pages.begin;
#ifdef MADV_POPULATE_WRITE
  if (size <= kSmall && madvise(start, size, writable ? MADV_POPULATE_WRITE : MADV_POPULATE_READ) == 0) {
    return true;
  }
#endif
  // MS_ASYNC starts nothing on Linux, but finds holes much faster than reading the list of mappings.
  if (msync(start, size, MS_ASYNC) != 0 && errno == ENOMEM) return false;
  return listed(pages, writable);
}

}  // namespace softrnic::rnic
