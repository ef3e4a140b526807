// The side that writes: takes the records of a sender, whoever that is, and answers them.
#pragma once

#include <dirent.h>

#include <memory>
#include <optional>
#include <unordered_set>

#include "copy/budget.h"
#include "copy/entry_guard.h"
#include "copy/filter_list.h"
#include "copy/observer.h"
#include "copy/output.h"
#include "copy/stream.h"
#include "copy/tree.h"

namespace softrnic::copy {

/// Where things go.
struct Destination {
  Tree tree;             ///< nothing is written outside
  std::string new_name;  ///< takes the place of the first part of every path, when not empty
  int pipe_fd = -1;      ///< for kStream to standard output, else -1
};

/// Finds out what `path` (clean, in `tree`) means as a destination: a directory to copy into, or a new name.
Result<Destination> choose_destination(const Tree& tree, const std::string& path, std::uint32_t flags);

/// What a sender may send.
struct Intake {
  std::uint32_t flags = 0;  ///< of the job
  const FilterList& filters;
  std::optional<std::vector<std::string>> sources;  ///< that this side asked for; none: the sender chooses
  bool outside_links = false;                       ///< symbolic links may lead out of the destination
  Budget& memory;                                   ///< for what the sender lists
};

class Receiver {
 public:
  Receiver(Stream& stream, Destination destination, const Intake& intake, Observer& observer)
      : stream_(stream),
        destination_(std::move(destination)),
        flags_(intake.flags),
        filters_(intake.filters),
        outside_links_(intake.outside_links),
        observer_(observer),
        budget_(intake.memory),
        memory_(intake.memory),
        listed_memory_(intake.memory),
        guard_(intake.flags, intake.filters, intake.sources) {}

  /// Until the sender has said that nothing more comes; then the sender has been told the outcome.
  Result<Finished> run();

 private:
  using Handled = Result<void>;
  Handled frame(Bytes frame);
  Handled record(RecordType type, Bytes body);
  template <typename Record>
  Handled parse(Bytes body, Handled (Receiver::*take)(const Record&));

  Handled take_totals(const Totals& totals);
  Handled take_directory(const Directory& directory);
  Handled take_symlink(const Symlink& symlink);
  Handled take_offer(const Offer& offer);
  Handled take_file(const File& file);
  Handled take_chunk(Bytes body);
  Handled take_same(const Same& same);
  Handled take_file_end(const FileEnd& end);
  Handled take_listing(const Listing& listing);
  Handled take_unreadable(const Unreadable& unreadable);
  Handled take_aborted(const Aborted& aborted);

  /// Failed: `number` may be 0 for things that the sender has no number for.
  Handled failed(std::uint64_t number, int error, const std::string& path, const std::string& text = {},
                 bool again = false);
  Handled lost_file(int error, const std::string& text = {}, bool again = false);
  Handled count_up(std::uint64_t number);
  Handled note(const std::string& what, const std::string& path);
  bool place_of(const std::string& path, int& directory, std::string& name, int& error);
  int make_directory(const Directory& directory, const std::string& path);
  Handled remember_attributes(const Directory& directory);
  int make_symlink(const Symlink& symlink, const std::string& path);
  bool may_lead(const Symlink& symlink) const;
  bool is_newer_here(int directory, const std::string& name, const FileInfo& info) const;
  bool is_same_here(int directory, const std::string& name, const FileInfo& info) const;
  Handled remove_others(const std::string& path);
  Handled find_others(DIR* directory, const std::string& path, std::vector<std::string>& others);
  void finish_directories();
  std::string mapped(const std::string& path) const;
  bool has(JobFlag flag) const { return (flags_ & flag) != 0; }

  Stream& stream_;
  Destination destination_;
  std::uint32_t flags_;
  const FilterList& filters_;
  bool outside_links_;
  Observer& observer_;
  Budget& budget_;
  Held memory_, listed_memory_;  ///< for the whole copy, and for `listed_`
  EntryGuard guard_;

  std::uint64_t number_ = 0, told_ = 0;  ///< of the last thing finished, and what the sender knows of it
  std::unique_ptr<Output> output_;       ///< of the current file; none when it failed
  FileInfo file_;
  bool in_file_ = false;
  std::uint64_t next_offset_ = 0;
  Fingerprint fingerprint_;
  std::unordered_set<std::string> listed_;
  bool trouble_at_source_ = false;
  std::vector<std::pair<std::string, Metadata>> directories_;  ///< whose attributes are set at the end
  Finished finished_;
  bool ended_ = false;
};

}  // namespace softrnic::copy
