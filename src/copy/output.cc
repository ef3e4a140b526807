#include "copy/output.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <algorithm>

#include "copy/tree.h"

namespace softrnic::copy {
namespace {

constexpr std::uint64_t kAllocateFrom = 1U << 20;  // smaller files find room or do not, at once
constexpr std::uint32_t kMaxChunk = 1U << 20;
// Pieces of a sparse file that --verify remembers: room is made for so many
constexpr std::size_t kRunsAtOnce = 4096;

/// Finds out now that there is no room, and lets the file system choose a place for all of it. In memory
/// there are no places to choose: pages would be made twice. 0 or an errno.
int make_room(int fd, std::uint64_t size) {
  struct statfs system {};
  if (fstatfs(fd, &system) == 0 && system.f_type == TMPFS_MAGIC) {
    const auto free =
        static_cast<std::uint64_t>(system.f_bavail) * static_cast<std::uint64_t>(system.f_bsize);
    return system.f_blocks != 0 && free < size ? ENOSPC : 0;
  }
  if (fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(size)) == 0) return 0;
  return errno == ENOSPC || errno == EFBIG || errno == EDQUOT ? errno : 0;
}

}  // namespace

int set_attributes(int fd, const Metadata& metadata) {
  if (geteuid() == 0 && fchown(fd, metadata.uid, metadata.gid) != 0)
    return errno;  // before the mode: it clears set-id
  if (fchmod(fd, metadata.mode & 07777) != 0) return errno;
  const std::array<timespec, 2> times{
      {{0, UTIME_OMIT}, {static_cast<time_t>(metadata.mtime), static_cast<long>(metadata.mtime_ns)}}};
  return futimens(fd, times.data()) == 0 ? 0 : errno;
}

FileOutput::~FileOutput() {
  if (renamed_ || !file_ || is_final_ || keep_) return;
  unlinkat(directory_, journal_name(name_).c_str(), 0);  // never a journal without its part
  unlinkat(directory_, part_name(name_).c_str(), 0);
}

/// The part, locked, so that two copies of one file do not write the same part.
int FileOutput::open_part(bool fresh) {
  const std::string part = part_name(name_);
  const mode_t mode = options_.preserve ? 0600 : info_.metadata.mode & 0777;
  constexpr int kFlags = O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC;
  file_ = UniqueFd(openat(directory_, part.c_str(), kFlags | O_EXCL, mode));
  if (file_) return flock(file_.get(), LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
  if (errno != EEXIST) return errno;
  // Of a run that was killed, or of one that goes on.
  if (!fresh) {
    file_ = open_own(directory_, part, O_RDWR);
    if (file_ && flock(file_.get(), LOCK_EX | LOCK_NB) == 0) return 0;
    return errno == EWOULDBLOCK ? EBUSY : errno;
  }
  const UniqueFd old(openat(directory_, part.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (old && flock(old.get(), LOCK_EX | LOCK_NB) != 0) return EBUSY;
  if (unlinkat(directory_, part.c_str(), 0) != 0) return errno;
  unlinkat(directory_, journal_name(name_).c_str(), 0);
  file_ = UniqueFd(openat(directory_, part.c_str(), kFlags | O_EXCL, mode));
  return file_ && flock(file_.get(), LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
}

int FileOutput::open() {
  const bool continued = (info_.flags & kContinued) != 0;
  if (continued && faccessat(directory_, part_name(name_).c_str(), F_OK, AT_SYMLINK_NOFOLLOW) != 0)
    return take_over_finished();
  if (const int error = open_part(!continued)) return error;
  use_bulk();
  const Progress start{info_.size, info_.metadata.mtime, info_.metadata.mtime_ns, 0};
  Progress before;
  if (options_.keep_part && !(continued && read_journal(directory_, name_, before)) &&
      !journal_.open(directory_, name_, start))
    return errno;
  if (continued && options_.keep_part && !journal_.open(directory_, name_, before)) return errno;
  keep_ = options_.keep_part;
  if ((info_.flags & (kSparse | kUnknownSize)) != 0 || info_.size < kAllocateFrom) return 0;
  return make_room(file_.get(), info_.size);
}

void FileOutput::use_bulk() {
  const bool whole = (info_.flags & (kSparse | kUnknownSize)) == 0;
  bulk_ = BulkFile(file_.get(), options_.direct, whole ? info_.size : 0);
}

/// The file of an earlier run is compared where it is; nothing is written to it.
int FileOutput::take_over_finished() {
  file_ = UniqueFd(openat(directory_, name_.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  is_final_ = true;
  if (!file_) return errno;
  use_bulk();
  return 0;
}

int FileOutput::remember(std::uint64_t offset, std::uint32_t length, const Hash& hash) {
  if (!options_.verify) return 0;
  written_.add(offset, length, hash);
  if (!runs_.empty()) {
    Run& last = runs_.back();
    if (last.length == length && last.offset + last.count * length == offset) {
      ++last.count;
      return 0;
    }
  }
  if (runs_.size() == runs_.capacity()) {
    if (runs_memory_ && !runs_memory_->add(kRunsAtOnce * sizeof(Run))) return ENOMEM;
    runs_.reserve(runs_.size() + kRunsAtOnce);
  }
  runs_.push_back({offset, length, 1});
  return 0;
}

/// Reads `length` bytes and computes their hash. False and errno.
bool FileOutput::hash_at(std::uint64_t offset, std::uint32_t length, Hash& hash) {
  const MutableBytes bytes = scratch_.room(length);
  if (bytes.size() != length) return errno = ENOMEM, false;
  if (const int error = bulk_.read(offset, bytes)) return errno = error, false;
  hash = hash_of(bytes);
  return true;
}

int FileOutput::write(std::uint64_t offset, Bytes bytes, const Hash& hash) {
  if (is_final_) return EAGAIN;  // it is not the same after all
  if (const int error = remember(offset, static_cast<std::uint32_t>(bytes.size()), hash)) return error;
  const std::uint64_t end = offset + bytes.size();
  if (const int error = bulk_.write(offset, bytes)) return error;
  journal_.note(end);
  return 0;
}

bool FileOutput::has(std::uint64_t offset, std::uint32_t length, const Hash& hash) {
  Hash there;
  if (length > kMaxChunk || !hash_at(offset, length, there) || there != hash) return false;
  return remember(offset, length, hash) == 0;
}

/// Reads the chunks again, from the file.
bool FileOutput::read_back(Hash& fingerprint) {
  Fingerprint again;
  for (const Run& run : runs_) {
    for (std::uint64_t i = 0; i < run.count; ++i) {
      Hash hash;
      const std::uint64_t offset = run.offset + i * run.length;
      if (!hash_at(offset, run.length, hash)) return false;
      again.add(offset, run.length, hash);
    }
  }
  fingerprint = again.value();
  return true;
}

int FileOutput::finish(std::uint64_t size) {
  struct stat info {};
  if (fstat(file_.get(), &info) != 0) return errno;
  if (is_final_ && static_cast<std::uint64_t>(info.st_size) != size) return EAGAIN;
  if (static_cast<std::uint64_t>(info.st_size) != size &&
      ftruncate(file_.get(), static_cast<off_t>(size)) != 0)
    return errno;
  if (options_.verify) {
    Hash fingerprint;
    if (!read_back(fingerprint)) return errno != 0 ? errno : EIO;
    if (fingerprint != written_.value()) return EBADMSG;
  }
  if (options_.preserve)
    if (const int error = set_attributes(file_.get(), info_.metadata)) return error;
  if (options_.sync && fdatasync(file_.get()) != 0) return errno;
  return is_final_ ? 0 : rename();
}

int FileOutput::rename() {
  if (options_.keep_part) unlinkat(directory_, journal_name(name_).c_str(), 0);
  if (renameat(directory_, part_name(name_).c_str(), directory_, name_.c_str()) != 0) return errno;
  renamed_ = true;
  return 0;
}

std::uint64_t bytes_left_there(int directory, const std::string& name, const FileInfo& info) {
  Progress before;
  struct stat there {};
  if (fstatat(directory, part_name(name).c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0 &&
      S_ISREG(there.st_mode) && there.st_uid == geteuid() && there.st_nlink == 1) {
    const bool same = read_journal(directory, name, before) && before.size == info.size &&
                      before.mtime == info.metadata.mtime && before.mtime_ns == info.metadata.mtime_ns;
    return same ? before.finished : 0;
  }
  if (fstatat(directory, name.c_str(), &there, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(there.st_mode)) return 0;
  return static_cast<std::uint64_t>(there.st_size) == info.size ? info.size : 0;
}

void remove_leftovers(int directory, const std::string& name) {
  const UniqueFd part(
      openat(directory, part_name(name).c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!part || flock(part.get(), LOCK_EX | LOCK_NB) != 0) return;
  unlinkat(directory, journal_name(name).c_str(), 0);
  unlinkat(directory, part_name(name).c_str(), 0);
}

int PipeOutput::put(Bytes bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(fd_, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return errno;
    bytes = bytes.subspan(static_cast<std::size_t>(put));
    at_ += static_cast<std::uint64_t>(put);
  }
  return 0;
}

int PipeOutput::zeros_up_to(std::uint64_t offset) {
  static constexpr std::array<std::byte, 65536> kZeros{};
  if (offset < at_) return ESPIPE;
  while (at_ < offset)
    if (const int error = put(Bytes(kZeros).first(std::min<std::uint64_t>(kZeros.size(), offset - at_))))
      return error;
  return 0;
}

int PipeOutput::write(std::uint64_t offset, Bytes bytes, const Hash&) {
  const int error = zeros_up_to(offset);
  return error != 0 ? error : put(bytes);
}

}  // namespace softrnic::copy
