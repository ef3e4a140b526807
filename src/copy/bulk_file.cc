#include "copy/bulk_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "copy/cache_room.h"

namespace softrnic::copy {
namespace {

constexpr std::uint64_t kWorthAsking = 64U << 20;  // less fits, or is gone before the answer is there

bool is_aligned(std::uint64_t offset, Bytes bytes) {
  const auto address = reinterpret_cast<std::uintptr_t>(bytes.data());
  return ((offset | address | bytes.size()) & (kDirectAlignment - 1)) == 0;
}

bool is_direct(int fd) {
  const int flags = fcntl(fd, F_GETFL);
  return flags >= 0 && (flags & O_DIRECT) != 0;
}

}  // namespace

void AlignedBytes::Free::operator()(std::byte* bytes) const { std::free(bytes); }

MutableBytes AlignedBytes::room(std::size_t size) {
  if (size > size_) {
    size_ = (size + kDirectAlignment - 1) & ~(kDirectAlignment - 1);
    bytes_.reset(static_cast<std::byte*>(std::aligned_alloc(kDirectAlignment, size_)));
    if (bytes_ == nullptr) size_ = 0;
  }
  return MutableBytes(bytes_.get(), std::min(size, size_));
}

BulkFile::BulkFile(int fd, DirectIo choice, std::uint64_t size, std::uint64_t (*room)())
    : fd_(fd),
      choice_(choice),
      size_(size),
      room_(room),
      ask_at_(size >= kWorthAsking ? 0 : kWorthAsking),
      is_direct_(is_direct(fd)) {}

BulkFile::BulkFile(int fd, DirectIo choice, std::uint64_t size)
    : BulkFile(fd, choice, size, [] { return room_in_page_cache(); }) {}

/// Whether a piece of `size` bytes should go past the cache.
bool BulkFile::wants_direct(std::size_t size) {
  if (choice_ != DirectIo::automatic) return choice_ == DirectIo::always;
  moved_ += size;
  if (moved_ <= ask_at_) return false;
  ask_at_ = room_();
  if (std::max(size_, moved_) <= ask_at_) return false;
  choice_ = DirectIo::always;
  return true;
}

/// A file system that refuses is not asked again.
void BulkFile::set_direct(bool direct) {
  if (direct == is_direct_) return;
  const int flags = fcntl(fd_, F_GETFL);
  if (flags >= 0 && fcntl(fd_, F_SETFL, direct ? flags | O_DIRECT : flags & ~O_DIRECT) == 0)
    is_direct_ = direct;
  else
    choice_ = DirectIo::never;
}

template <typename Span, typename Call>
int BulkFile::move(std::uint64_t offset, Span bytes, Call call) {
  const bool direct = wants_direct(bytes.size());
  while (!bytes.empty()) {
    set_direct(direct && choice_ == DirectIo::always && is_aligned(offset, bytes));
    const ssize_t done = call(fd_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0 && errno == EINVAL && is_direct_ &&
        choice_ == DirectIo::always) {  // it asks for more than a page, or has no direct access after all
      choice_ = DirectIo::never;
      continue;
    }
    if (done <= 0) return done == 0 ? ENODATA : errno;
    bytes = bytes.subspan(static_cast<std::size_t>(done));
    offset += static_cast<std::uint64_t>(done);
  }
  return 0;
}

int BulkFile::read(std::uint64_t offset, MutableBytes into) {
  return move(offset, into,
              [](int fd, std::byte* to, std::size_t size, off_t at) { return pread(fd, to, size, at); });
}

int BulkFile::write(std::uint64_t offset, Bytes from) {
  return move(offset, from, [](int fd, const std::byte* what, std::size_t size, off_t at) {
    return pwrite(fd, what, size, at);
  });
}

}  // namespace softrnic::copy
