// Memory of a process that its local peers can map: parts of files, and System V shared memory.
//
// The owner finds the file under an address and keeps a descriptor of it; local peers open it anew from
// /proc/PID/fd, which takes no more rights than cross-memory attach does, and compare its device and inode
// number with what was published: so neither a number that was given to another process nor a descriptor that
// is another file's by now can lead astray.
//
// A file that becomes shorter takes the pages of its mappings along, and whoever touches them gets
// SIGBUS. So by default only what cannot shrink is mapped: memfds sealed against it, memory that was
// mapped shared without a file, and System V segments. (Huge pages are not among them: a hole in them
// can be impossible to fill.)
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/settings.h"
#include "base/unique_fd.h"

namespace softrnic::samehost {

enum class SharedKind : std::uint32_t { none, file, system_v };

/// What is published. Plain words, for shared memory.
struct SharedRange {
  SharedKind kind = SharedKind::none;
  std::int32_t handle = -1;  ///< a descriptor of the owner, or the id of the segment
  std::uint64_t start = 0;   ///< where the owner has it; page-aligned
  std::uint64_t length = 0;
  std::uint64_t offset = 0;  ///< of `start` in the file
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint32_t writable = 0;
  std::uint32_t reserved = 0;

  bool holds(std::uint64_t address, std::uint64_t bytes) const {
    const std::uint64_t into = address - start;  // huge when address < start
    return into < length && bytes <= length - into;
  }
  /// The same bytes in the same place, however others get at them.
  bool is_same_place(const SharedRange& other) const {
    return kind == other.kind && start == other.start && length == other.length && offset == other.offset &&
           device == other.device && inode == other.inode && writable == other.writable;
  }
};

struct OwnedRange {
  SharedRange range;
  UniqueFd fd;  ///< what range.handle names; none for System V segments
};

/// The whole of the mapping at `address` of this process, and of those behind it that go on with the same
/// file as far as `length`, if it is one that local peers could have too. The file is not opened yet.
std::optional<SharedRange> find_shared_range(std::uint64_t address, std::uint64_t length);
/// Opens its file. Nothing: this process has no descriptor of it and may not get one, or it might shrink.
std::optional<OwnedRange> own_shared_range(const SharedRange& found, ShareFiles files);

/// A range of another process, mapped here; not there in forked children, nor in core dumps.
class MappedRange {
 public:
  MappedRange() = default;
  /// Nothing: it is no longer there, may not be opened, might shrink, or there is no room.
  static MappedRange map(pid_t owner, const SharedRange& range, ShareFiles files);
  ~MappedRange();
  MappedRange(MappedRange&& other) noexcept
      : range_(other.range_), base_(std::exchange(other.base_, nullptr)) {}
  MappedRange& operator=(MappedRange&& other) noexcept {
    std::swap(range_, other.range_);
    std::swap(base_, other.base_);
    return *this;
  }

  explicit operator bool() const { return base_ != nullptr; }
  const SharedRange& range() const { return range_; }
  /// Where the owner's `address` lies here; range().holds() it.
  std::uint64_t at(std::uint64_t address) const {
    return reinterpret_cast<std::uint64_t>(base_) + (address - range_.start);
  }
  /// In a forked child, where it is not mapped.
  void forget() { base_ = nullptr; }

 private:
  MappedRange(const SharedRange& range, void* base) : range_(range), base_(base) {}

  SharedRange range_;
  void* base_ = nullptr;
};

}  // namespace softrnic::samehost
