// The bytes of a file that is read or written once: past the page cache (O_DIRECT) when memory could not hold
// it anyway, so that what others need stays there.
#pragma once

#include <cstdint>
#include <memory>

#include "base/bytes.h"
#include "copy/records.h"

namespace softrnic::copy {

/// When a file goes past the page cache; automatic: when memory cannot hold it.
enum class DirectIo : std::uint8_t { automatic, always, never };

/// What a job says of it.
constexpr DirectIo direct_io_of(std::uint32_t job_flags) {
  return (job_flags & kDirectAlways) != 0  ? DirectIo::always
         : (job_flags & kDirectNever) != 0 ? DirectIo::never
                                           : DirectIo::automatic;
}

/// What file systems ask of the offset, the length and the memory of direct input and
/// output, at most: a page.
inline constexpr std::size_t kDirectAlignment = 4096;

/// Memory that direct input can go to.
class AlignedBytes {
 public:
  /// Room for `size` bytes; what was there is lost when it has to grow. Empty when there is no memory.
  MutableBytes room(std::size_t size);

 private:
  struct Free {
    void operator()(std::byte* bytes) const;
  };
  std::unique_ptr<std::byte, Free> bytes_;
  std::size_t size_ = 0;
};

/// Pieces that are aligned in all three ways go past the page cache, others (the end of a file) through it;
/// so does everything where the file system wants no direct access. Functions return 0 or an errno.
class BulkFile {
 public:
  BulkFile() = default;
  /// `fd` has to stay open. `size`: how much will be moved; 0 when that is not known (a pipe, holes): then
  /// the file goes past the cache from where it has outgrown it. `room` is asked how much the cache can hold.
  BulkFile(int fd, DirectIo choice, std::uint64_t size, std::uint64_t (*room)());
  BulkFile(int fd, DirectIo choice, std::uint64_t size);

  /// ENODATA when the file ends before.
  int read(std::uint64_t offset, MutableBytes into);
  int write(std::uint64_t offset, Bytes from);
  int fd() const { return fd_; }

 private:
  template <typename Span, typename Call>
  int move(std::uint64_t offset, Span bytes, Call call);
  bool wants_direct(std::size_t size);
  void set_direct(bool direct);

  int fd_ = -1;
  DirectIo choice_ = DirectIo::never;
  std::uint64_t size_ = 0;
  std::uint64_t (*room_)() = nullptr;
  std::uint64_t moved_ = 0, ask_at_ = 0;
  bool is_direct_ = false;  ///< the descriptor has O_DIRECT
};

}  // namespace softrnic::copy
