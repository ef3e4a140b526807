// How far a file has come, beside the part of it that is there: what --resume starts from. Kept in one small
// file that is overwritten; one that is torn, or tells of another source, counts as none.
#pragma once

#include <string>

#include "base/unique_fd.h"
#include "copy/records.h"

namespace softrnic::copy {

struct Progress {
  std::uint64_t size = 0;  ///< of the source
  std::int64_t mtime = 0;
  std::uint32_t mtime_ns = 0;
  std::uint64_t finished = 0;  ///< bytes from the beginning that have been written

  template <class Self, class Archive>
  static void fields(Self& self, Archive& archive) {
    archive(self.size);
    archive(self.mtime);
    archive(self.mtime_ns);
    archive(self.finished);
  }
};

/// The name of the part and of the journal of `name`, in the same directory. They are made of a hash of the
/// name, so that they are found again, and fit where the name fits.
std::string part_name(const std::string& name);
std::string journal_name(const std::string& name);

/// False when there is none that can be believed.
bool read_journal(int directory, const std::string& name, Progress& progress);

/// Notes progress every kStep bytes.
class Journal {
 public:
  static constexpr std::uint64_t kStep = 8U << 20;
  /// False and errno.
  bool open(int directory, const std::string& name, const Progress& start);
  void note(std::uint64_t finished);

 private:
  bool write_down();
  UniqueFd file_;
  Progress progress_;
};

}  // namespace softrnic::copy
