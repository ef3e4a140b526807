#include "samehost/shared_range.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <string>
#include <string_view>

#include "base/unique_file.h"
#include "samehost/proc_maps.h"

namespace softrnic::samehost {
namespace {

constexpr std::string_view kSystemV = "/SYSV";
constexpr std::string_view kSharedWithoutFile = "/dev/zero (deleted)";

std::uint64_t page_end(std::uint64_t bytes) {
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  return (bytes + page - 1) / page * page;
}

/// The device of all memory that is shared without a file system: memfds, System V segments,
/// mappings without a file.
dev_t memory_device() {
  static const dev_t device = [] {
    const UniqueFd probe(above_stdio(memfd_create("softrnic-probe", MFD_CLOEXEC)));
    struct stat status {};
    return probe && fstat(probe.get(), &status) == 0 ? status.st_dev : dev_t{};
  }();
  return device;
}

std::string link_of(int fd) {
  char text[64] = {};
  char path[64];
  std::snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  const ssize_t length = readlink(path, text, sizeof text);
  return {text, static_cast<std::size_t>(std::max<ssize_t>(length, 0))};
}

/// Whether no access to the file's bytes can end in SIGBUS, now and later.
bool stays_whole(int fd, const struct stat& status) {
  struct statfs system {};
  if (fstatfs(fd, &system) != 0 || system.f_type != TMPFS_MAGIC || status.st_dev != memory_device())
    return false;
  const int seals = fcntl(fd, F_GET_SEALS);
  return (seals >= 0 && (seals & F_SEAL_SHRINK) != 0) || link_of(fd) == kSharedWithoutFile;
}

/// Whether `fd` is the file of the range, all of it.
bool is_file_of(int fd, const SharedRange& range, struct stat& status) {
  return fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_dev == range.device &&
         status.st_ino == range.inode;
}

/// The other side may have published any figures.
bool is_inside(const SharedRange& range, std::uint64_t bytes) {
  return range.length <= bytes && range.offset <= bytes - range.length;
}

bool may_be_mapped(int fd, const SharedRange& range, ShareFiles files) {
  struct stat status {};
  return is_file_of(fd, range, status) &&
         is_inside(range, page_end(static_cast<std::uint64_t>(status.st_size))) &&
         (files == ShareFiles::all || stays_whole(fd, status));
}

// ---- the owner

/// The link that the kernel has for each mapping; to be followed only with CAP_CHECKPOINT_RESTORE.
UniqueFd open_by_mapping(std::uint64_t address, int mode) {
  const auto mapping = mapping_at(address);
  if (!mapping) return UniqueFd();
  char path[80];
  std::snprintf(path, sizeof path, "/proc/self/map_files/%lx-%lx", mapping->start, mapping->end);
  return UniqueFd(above_stdio(open(path, mode | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)));
}

/// Whether `next` maps what follows in the file: the kernel cuts mappings where advice or protection differs.
bool goes_on(const Mapping& mapping, const Mapping& next) {
  return next.shared && next.device == mapping.device && next.inode == mapping.inode &&
         next.offset == mapping.offset + (mapping.end - mapping.start) && next.writable == mapping.writable &&
         next.name == mapping.name;
}

/// A duplicate of a descriptor of this process.
UniqueFd open_by_descriptor(const SharedRange& range, int mode) {
  const UniqueDirectory directory(opendir("/proc/self/fd"));
  if (directory == nullptr) return UniqueFd();
  while (const dirent* entry = readdir(directory.get())) {
    struct stat status {};
    const std::string_view name(entry->d_name);
    int number = -1;
    std::from_chars(name.data(), name.data() + name.size(), number);
    if (!is_file_of(number, range, status)) continue;
    UniqueFd fd(fcntl(number, F_DUPFD_CLOEXEC, 3));
    const int flags = fd ? fcntl(fd.get(), F_GETFL) : -1;
    const bool usable =
        flags >= 0 && (flags & O_PATH) == 0 && ((flags & O_ACCMODE) == O_RDWR || (flags & O_ACCMODE) == mode);
    if (usable && is_file_of(fd.get(), range, status)) return fd;  // it may be another's by now
  }
  return UniqueFd();
}

// ---- the local peer

UniqueFd open_again(int fd, int mode) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  return UniqueFd(above_stdio(open(path, mode | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)));
}

void* map_file(pid_t owner, const SharedRange& range, ShareFiles files) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/fd/%d", owner, range.handle);
  // first only to look at, as it may be a device by now
  const UniqueFd look(above_stdio(open(path, O_PATH | O_CLOEXEC)));
  struct stat status {};
  if (!is_file_of(look.get(), range, status)) return MAP_FAILED;
  const bool writable = range.writable != 0;
  const UniqueFd fd = open_again(look.get(), writable ? O_RDWR : O_RDONLY);
  if (!may_be_mapped(fd.get(), range, files)) return MAP_FAILED;
  return mmap(nullptr, range.length, writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, fd.get(),
              static_cast<off_t>(range.offset));
}

/// Ids of segments mean the same to both processes.
bool has_same_ids(pid_t owner) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/ns/ipc", owner);
  struct stat theirs {};
  struct stat ours {};
  return stat(path, &theirs) == 0 && stat("/proc/self/ns/ipc", &ours) == 0 && theirs.st_ino == ours.st_ino &&
         theirs.st_dev == ours.st_dev;
}

/// All of the segment: there is no part to be had.
void* map_system_v(pid_t owner, const SharedRange& range) {
  shmid_ds status{};
  if (!has_same_ids(owner) || shmctl(range.handle, IPC_STAT, &status) != 0 ||
      !is_inside(range, page_end(status.shm_segsz)))
    return MAP_FAILED;
  void* const base = shmat(range.handle, nullptr, range.writable != 0 ? 0 : SHM_RDONLY);
  if (base == MAP_FAILED) return base;
  // one of huge pages has another device, and may have holes that cannot be filled
  const auto mapping = mapping_at(reinterpret_cast<std::uint64_t>(base));
  if (mapping && mapping->device == memory_device()) return static_cast<std::byte*>(base) + range.offset;
  shmdt(base);
  return MAP_FAILED;
}

}  // namespace

std::optional<SharedRange> find_shared_range(std::uint64_t address, std::uint64_t length) {
  auto mapping = mapping_at(address);
  if (!mapping || !mapping->shared) return std::nullopt;
  // The kernel lists ids of segments as inode numbers, and the first id of a machine is 0.
  const bool segment = mapping->device == memory_device() && mapping->name.starts_with(kSystemV);
  if (!segment && mapping->inode == 0) return std::nullopt;
  while (mapping->end < address + length) {
    const auto next = mapping_at(mapping->end);
    if (!next || !goes_on(*mapping, *next)) break;
    mapping->end = next->end;
  }
  SharedRange range;
  range.kind = segment ? SharedKind::system_v : SharedKind::file;
  range.handle = segment ? static_cast<std::int32_t>(mapping->inode) : -1;
  range.start = mapping->start;
  range.length = mapping->end - mapping->start;
  range.offset = mapping->offset;
  range.device = mapping->device;
  range.inode = mapping->inode;
  range.writable = mapping->writable ? 1 : 0;
  return range;
}

std::optional<OwnedRange> own_shared_range(const SharedRange& found, ShareFiles files) {
  if (files == ShareFiles::none) return std::nullopt;
  OwnedRange owned{found, UniqueFd()};
  if (found.kind == SharedKind::system_v) return owned;
  const int mode = found.writable != 0 ? O_RDWR : O_RDONLY;
  owned.fd = open_by_mapping(found.start, mode);
  struct stat status {};
  if (!is_file_of(owned.fd.get(), found, status)) owned.fd = open_by_descriptor(found, mode);
  if (!owned.fd || fstat(owned.fd.get(), &status) != 0) return std::nullopt;
  // what is mapped beyond the end of the file is not there
  const std::uint64_t end = page_end(static_cast<std::uint64_t>(status.st_size));
  if (end <= found.offset) return std::nullopt;
  owned.range.length = std::min(found.length, end - found.offset);
  owned.range.handle = owned.fd.get();
  if (files != ShareFiles::all && !stays_whole(owned.fd.get(), status)) return std::nullopt;
  return owned;
}

MappedRange MappedRange::map(pid_t owner, const SharedRange& range, ShareFiles files) {
  if (files == ShareFiles::none || range.length == 0) return {};
  void* const base = range.kind == SharedKind::system_v ? map_system_v(owner, range)
                     : range.kind == SharedKind::file   ? map_file(owner, range, files)
                                                        : MAP_FAILED;
  if (base == MAP_FAILED) return {};
  MappedRange mapped(range, base);
  madvise(base, range.length, MADV_DONTDUMP);
  if (madvise(base, range.length, MADV_DONTFORK) != 0) return {};
  return mapped;
}

MappedRange::~MappedRange() {
  if (base_ == nullptr) return;
  if (range_.kind == SharedKind::system_v) {
    shmdt(static_cast<std::byte*>(base_) - range_.offset);
  } else {
    munmap(base_, range_.length);
  }
}

}  // namespace softrnic::samehost
