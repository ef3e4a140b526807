// Where a file goes: under a temporary name beside its own until it is whole, or to a pipe.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "copy/budget.h"
#include "copy/bulk_file.h"
#include "copy/checksum.h"
#include "copy/journal.h"

namespace softrnic::copy {

/// Functions return 0 or an errno.
class Output {
 public:
  virtual ~Output() = default;
  /// In ascending order of offsets; `hash` is that of the bytes. What lies between two writes is a hole.
  virtual int write(std::uint64_t offset, Bytes bytes, const Hash& hash) = 0;
  /// Whether `length` bytes at `offset` are there already and have this hash.
  virtual bool has(std::uint64_t offset, std::uint32_t length, const Hash& hash) = 0;
  /// The file is whole: gives it its attributes and its name.
  virtual int finish(std::uint64_t size) = 0;
};

struct OutputOptions {
  bool preserve = false;   ///< mode, times, owner when root
  bool sync = false;       ///< fdatasync before the rename
  bool keep_part = false;  ///< when it is not finished, the part stays for --resume, with a journal
  bool verify = false;     ///< `finish` reads back what was written
  DirectIo direct = DirectIo::automatic;
  Budget* memory = nullptr;  ///< for what `verify` remembers; none: without a limit
};

/// Sets what `metadata` says; the owner only where this process may. 0 or an errno.
int set_attributes(int fd, const Metadata& metadata);

class FileOutput final : public Output {
 public:
  /// `directory` has to stay open. Takes over the part that an earlier run left when the file is kContinued.
  FileOutput(int directory, std::string name, FileInfo info, OutputOptions options)
      : directory_(directory), name_(std::move(name)), info_(std::move(info)), options_(options) {
    if (options.memory != nullptr) runs_memory_.emplace(*options.memory);
  }
  FileOutput(const FileOutput&) = delete;
  FileOutput& operator=(const FileOutput&) = delete;
  ~FileOutput() override;

  int open();
  int write(std::uint64_t offset, Bytes bytes, const Hash& hash) override;
  bool has(std::uint64_t offset, std::uint32_t length, const Hash& hash) override;
  int finish(std::uint64_t size) override;

 private:
  int open_part(bool fresh);
  int take_over_finished();
  void use_bulk();
  bool hash_at(std::uint64_t offset, std::uint32_t length, Hash& hash);
  bool read_back(Hash& fingerprint);
  int rename();

  struct Run {  ///< of chunks of equal length, one behind the other
    std::uint64_t offset;
    std::uint32_t length;
    std::uint64_t count;
  };
  int remember(std::uint64_t offset, std::uint32_t length, const Hash& hash);

  int directory_;
  std::string name_;
  FileInfo info_;
  OutputOptions options_;
  UniqueFd file_;
  BulkFile bulk_;  ///< of `file_`
  AlignedBytes scratch_;
  Journal journal_;
  bool is_final_ = false;  ///< `file_` is the finished file of an earlier run
  bool keep_ = false;
  bool renamed_ = false;
  std::vector<Run> runs_;
  std::optional<Held> runs_memory_;
  Fingerprint written_;
};

/// How many bytes from the beginning an earlier run has left, in a part or under the final name; 0 when none.
std::uint64_t bytes_left_there(int directory, const std::string& name, const FileInfo& info);

/// Removes what a killed run has left of `name`, unless another copy is writing it.
void remove_leftovers(int directory, const std::string& name);

/// A descriptor that takes bytes in their order: standard output.
class PipeOutput final : public Output {
 public:
  explicit PipeOutput(int fd) : fd_(fd) {}
  int write(std::uint64_t offset, Bytes bytes, const Hash& hash) override;
  bool has(std::uint64_t, std::uint32_t, const Hash&) override { return false; }
  int finish(std::uint64_t size) override { return zeros_up_to(size); }

 private:
  int zeros_up_to(std::uint64_t offset);
  int put(Bytes bytes);
  int fd_;
  std::uint64_t at_ = 0;
};

}  // namespace softrnic::copy
