// The side that reads: walks the sources and tells the receiver of them.
#pragma once

#include <deque>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "copy/budget.h"
#include "copy/bulk_file.h"
#include "copy/checksum.h"
#include "copy/filter_list.h"
#include "copy/observer.h"
#include "copy/stream.h"
#include "copy/tree.h"

namespace softrnic::copy {

/// Where sources are looked for: in a tree that nothing leads out of (a server), or as
/// this process sees files.
class Origin {
 public:
  Origin() = default;
  explicit Origin(const Tree& tree) : tree_(&tree) {}
  /// -1 and errno.
  UniqueFd open(const std::string& path, int flags) const;
  bool is_confined() const { return tree_ != nullptr; }

 private:
  const Tree* tree_ = nullptr;
};

class Sender {
 public:
  /// `memory`: for the names in directories, while they are walked.
  Sender(Stream& stream, Origin origin, const Job& job, const FilterList& filters, Budget& memory,
         Observer& observer);

  /// Sends everything and waits for the receiver's account. Sources that end with '/' stand for their
  /// contents; with kStream the one source is a file, or "-" for standard input.
  Result<Finished> run(const std::vector<std::string>& sources);

 private:
  using Sent = Result<void>;
  struct Entry {
    std::string local, path;  ///< where it is read, how it is called at the receiver
  };
  struct Waiting {  ///< offered
    std::uint64_t number;
    Entry entry;
  };

  Sent walk_all(const std::vector<std::string>& sources);
  Sent walk_source(const std::string& source);
  Sent walk(const Entry& entry, const struct stat& info, unsigned depth);
  Sent walk_directory(const Entry& entry, const struct stat& info, unsigned depth);
  Sent walk_children(const Entry& entry, const std::vector<std::string>& names, unsigned depth);
  Sent walk_symlink(const Entry& entry, const struct stat& info);
  Sent list(const std::string& path, const std::vector<std::string>& names);
  Sent offer_or_send(const Entry& entry, const struct stat& info);
  Sent send_file(const Entry& entry, std::uint64_t have);
  Sent send_stream(int fd);
  Sent send_contents(BulkFile& file, FileInfo& info, std::uint64_t have, int& error);
  Sent send_range(BulkFile& file, std::uint64_t begin, std::uint64_t end, std::uint64_t have, int& error);
  Sent send_chunk(BulkFile& file, std::uint64_t offset, std::uint32_t length, int& error);
  Sent send_same(BulkFile& file, std::uint64_t offset, std::uint32_t length, int& error);
  Sent end_file(std::uint64_t size, int error);
  Sent unreadable(const std::string& path, int error, const std::string& text = {});
  Sent answer_oldest();
  Sent settle_offers();
  Sent send_again();
  Sent pace(std::size_t bytes);
  template <typename Until>
  Sent wait_until(Until until);

  Sent hear(Bytes frame);
  Sent hear_record(RecordType type, Bytes body);
  Sent hear_failed(const Failed& failed);
  bool has(JobFlag flag) const { return (job_.flags & flag) != 0; }
  bool is_negotiated() const { return (job_.flags & (kUpdate | kResume | kDryRun)) != 0; }
  void forget_done();

  Stream& stream_;
  Origin origin_;
  Job job_;
  const FilterList& filters_;
  Budget& memory_;
  Observer& observer_;

  std::uint64_t number_ = 0, done_ = 0;
  std::uint64_t offers_ = 0;
  std::uint64_t lost_ = 0;  ///< number of the file that failed last at the receiver
  std::deque<Waiting> offered_;
  std::deque<Answer> answers_;
  std::deque<Waiting> on_the_way_;  ///< with --resume: sent, and perhaps to be sent again
  std::deque<Entry> again_;
  Fingerprint fingerprint_;
  AlignedBytes scratch_;
  bool finished_here_ = false;
  Finished finished_;
  Clock::time_point begin_;
  std::uint64_t paced_ = 0;
};

/// How many files and bytes a walk over the sources will find, at most.
Result<Totals> count(const Origin& origin, const std::vector<std::string>& sources, bool recursive,
                     Budget& memory);

}  // namespace softrnic::copy
