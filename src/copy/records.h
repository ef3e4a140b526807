// The records of a frame: what is copied, how, and how it went. docs/copy-protocol.md describes them.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "copy/archive.h"

namespace softrnic::copy {

enum class RecordType : std::uint16_t {
  // client → server
  job = 1,     ///< what to do; the first record
  source = 2,  ///< download: one path to send
  filter = 3,  ///< a pattern of --include or --exclude
  begin = 4,   ///< the job is complete: start
  // receiver of the files → sender
  ready = 10,     ///< go on
  answer = 11,    ///< to an offer
  done = 12,      ///< all up to this number are finished
  failed = 13,    ///< this one failed
  notice = 16,    ///< what --dry-run would do, what --delete did
  finished = 14,  ///< all is written; the last record
  aborted = 15,   ///< nothing more will be done; the last record, of either side
  // sender of the files → receiver
  totals = 20,
  directory = 21,
  symlink = 22,
  file = 23,  ///< a file begins; its chunks follow, then file_end
  chunk = 24,
  same = 25,  ///< a chunk that the receiver said it has
  file_end = 26,
  offer = 27,       ///< a file that is sent only when the receiver wants it
  listing = 28,     ///< the names in a directory, for --delete
  unreadable = 29,  ///< a source that cannot be read
  end = 30,         ///< nothing more comes
};

using Hash = std::array<std::byte, 16>;  ///< XXH3-128, canonical (big-endian) form

/// In front of each record.
struct RecordHeader {
  std::uint16_t type = 0;
  std::uint16_t reserved = 0;
  std::uint32_t length = 0;  ///< of what follows

  template <class Self, class Archive>
  static void fields(Self& self, Archive& archive) {
    archive(self.type);
    archive(self.reserved);
    archive(self.length);
  }
};
inline constexpr std::size_t kRecordHeader = 8;

/// What a job asks for; bits.
enum JobFlag : std::uint32_t {
  kRecursive = 1U << 0,
  kPreserve = 1U << 1,  ///< mode, times, owner when root
  kUpdate = 1U << 2,    ///< only what is newer
  kResume = 1U << 3,
  kDelete = 1U << 4,
  kDryRun = 1U << 5,
  kVerify = 1U << 6,         ///< read back what was written
  kSyncFiles = 1U << 7,      ///< fdatasync before the rename
  kIntoDirectory = 1U << 8,  ///< the destination has to be a directory
  kTotals = 1U << 9,         ///< count first, for a progress bar
  kStream = 1U << 10,        ///< one file without metadata: standard input or output
  // from here on for who has Capability::kDirectChoice
  kDirectAlways = 1U << 11,  ///< files go past the page cache
  kDirectNever = 1U << 12,   ///< they do not; without either it is as the file is larger than memory or not
};
inline constexpr std::uint32_t kKnownJobFlags = (1U << 13) - 1;
inline constexpr std::uint32_t kDirectFlags = kDirectAlways | kDirectNever;

struct Job {
  static constexpr RecordType kType = RecordType::job;
  std::uint32_t flags = 0;
  std::uint64_t bytes_per_second = 0;  ///< limit of the sender; 0: none
  std::string destination;             ///< upload

  template <class Self, class Archive>
  static void fields(Self& self, Archive& archive) {
    archive(self.flags);
    archive(self.bytes_per_second);
    archive(self.destination);
  }
};

struct Source {
  static constexpr RecordType kType = RecordType::source;
  std::string path;

  template <class Self, class Archive>
  static void fields(Self& self, Archive& archive) {
    archive(self.path);
  }
};

struct Filter {
  static constexpr RecordType kType = RecordType::filter;
  std::uint8_t include = 0;
  std::string pattern;

  template <class Self, class Archive>
  static void fields(Self& self, Archive& archive) {
    archive(self.include);
    archive(self.pattern);
  }
};

/// A record without fields.
template <RecordType type>
struct Mark {
  static constexpr RecordType kType = type;

  template <class Self, class Archive>
  static void fields(Self&, Archive&) {}
};
using Begin = Mark<RecordType::begin>;
using Ready = Mark<RecordType::ready>;
using End = Mark<RecordType::end>;

/// Of files, directories and symbolic links.
struct Metadata {
  std::uint32_t mode = 0;  ///< permission bits
  std::uint32_t uid = 0, gid = 0;
  std::int64_t mtime = 0;  ///< seconds
  std::uint32_t mtime_ns = 0;

  template <class Self, class Archive>
  static void fields(Self& self, Archive& archive) {
    archive(self.mode);
    archive(self.uid);
    archive(self.gid);
    archive(self.mtime);
    archive(self.mtime_ns);
  }
};

struct Totals {
  static constexpr RecordType kType = RecordType::totals;
  std::uint64_t files = 0, bytes = 0;

  template <class Self, class Archive>
  static void fields(Self& self, Archive& archive) {
    archive(self.files);
    archive(self.bytes);
  }
};

/// Numbers count up from 1 over directories, symbolic links and files. Paths are relative, with '/' between
/// the parts; the empty path is the destination itself.
struct Directory {
  static constexpr RecordType kType = RecordType::directory;
  std::uint64_t number = 0;
  Metadata metadata;
  std::string path;

  template <class Self, class Archive>
  static void fields(Self& self, Archive& archive) {
    archive(self.number);
    Metadata::fields(self.metadata, archive);
    archive(self.path);
  }
};

struct Symlink {
  static constexpr RecordType kType = RecordType::symlink;
  std::uint64_t number = 0;
  Metadata metadata;
  std::string path, target;

  template <class Self, class Archive>
  static void fields(Self& self, Archive& archive) {
    archive(self.number);
    Metadata::fields(self.metadata, archive);
    archive(self.path);
    archive(self.target);
  }
};

enum FileFlag : std::uint32_t {
  kSparse = 1U << 0,       ///< has holes: do not allocate ahead
  kUnknownSize = 1U << 1,  ///< `size` is not known yet (a pipe)
  kContinued = 1U << 2,    ///< keep what is there: `same` follows for it
};

struct FileInfo {
  std::uint64_t number = 0;
  Metadata metadata;
  std::uint64_t size = 0;
  std::uint32_t flags = 0;
  std::string path;

  template <class Self, class Archive>
  static void fields(Self& self, Archive& archive) {
    archive(self.number);
    Metadata::fields(self.metadata, archive);
    archive(self.size);
    archive(self.flags);
    archive(self.path);
  }
};
struct File : FileInfo {
  static constexpr RecordType kType = RecordType::file;
};
struct Offer : FileInfo {
  static constexpr RecordType kType = RecordType::offer;
};
/// Offers that a sender makes before it settles the first: the file, or why it cannot be read.
inline constexpr std::size_t kMostOffered = 256;

/// `length` bytes of data follow the fields.
struct Chunk {
  static constexpr RecordType kType = RecordType::chunk;
  std::uint64_t offset = 0;
  std::uint32_t length = 0;
  Hash hash{};
  std::array<std::byte, 28> reserved{};  ///< zeros; puts the data of a frame's first chunk at offset 64

  template <class Self, class Archive>
  static void fields(Self& self, Archive& archive) {
    archive(self.offset);
    archive(self.length);
    archive(self.hash);
    archive(self.reserved);
  }
};
inline constexpr std::size_t kChunkHead = 64;

struct Same {
  static constexpr RecordType kType = RecordType::same;
  std::uint64_t offset = 0;
  std::uint32_t length = 0;
  Hash hash{};

  template <class Self, class Archive>
  static void fields(Self& self, Archive& archive) {
    archive(self.offset);
    archive(self.length);
    archive(self.hash);
  }
};

struct FileEnd {
  static constexpr RecordType kType = RecordType::file_end;
  std::uint64_t size = 0;
  Hash hash{};              ///< of all chunks' offset, length and hash, see Fingerprint
  std::uint32_t error = 0;  ///< errno when the sender could not go on: the file is void

  template <class Self, class Archive>
  static void fields(Self& self, Archive& archive) {
    archive(self.size);
    archive(self.hash);
    archive(self.error);
  }
};

/// Names in the directory `path`, '\0' behind each; more records follow for the same directory until `last`.
struct Listing {
  static constexpr RecordType kType = RecordType::listing;
  std::uint8_t last = 0;
  std::string path, names;

  template <class Self, class Archive>
  static void fields(Self& self, Archive& archive) {
    archive(self.last);
    archive(self.path);
    archive(self.names);
  }
};

struct Unreadable {
  static constexpr RecordType kType = RecordType::unreadable;
  std::uint32_t error = 0;  ///< errno; 0: left out on purpose, see text
  std::string path, text;

  template <class Self, class Archive>
  static void fields(Self& self, Archive& archive) {
    archive(self.error);
    archive(self.path);
    archive(self.text);
  }
};

enum class Verdict : std::uint8_t { send = 1, skip = 2 };

struct Answer {
  static constexpr RecordType kType = RecordType::answer;
  std::uint64_t number = 0;
  std::uint8_t verdict = 0;
  std::uint64_t have = 0;  ///< bytes from the beginning that are there already

  template <class Self, class Archive>
  static void fields(Self& self, Archive& archive) {
    archive(self.number);
    archive(self.verdict);
    archive(self.have);
  }
};

struct Done {
  static constexpr RecordType kType = RecordType::done;
  std::uint64_t number = 0;

  template <class Self, class Archive>
  static void fields(Self& self, Archive& archive) {
    archive(self.number);
  }
};

struct Failed {
  static constexpr RecordType kType = RecordType::failed;
  std::uint64_t number = 0;  ///< 0: none of the sender's
  std::uint32_t error = 0;   ///< errno
  std::uint8_t again = 0;    ///< the part that was there is not the same: send it all
  std::string path, text;

  template <class Self, class Archive>
  static void fields(Self& self, Archive& archive) {
    archive(self.number);
    archive(self.error);
    archive(self.again);
    archive(self.path);
    archive(self.text);
  }
};

struct Notice {
  static constexpr RecordType kType = RecordType::notice;
  std::string what, path;

  template <class Self, class Archive>
  static void fields(Self& self, Archive& archive) {
    archive(self.what);
    archive(self.path);
  }
};

struct Finished {
  static constexpr RecordType kType = RecordType::finished;
  std::uint64_t files = 0, bytes = 0, skipped = 0, failures = 0, deleted = 0, reused = 0;

  template <class Self, class Archive>
  static void fields(Self& self, Archive& archive) {
    archive(self.files);
    archive(self.bytes);
    archive(self.skipped);
    archive(self.failures);
    archive(self.deleted);
    archive(self.reused);
  }
};

struct Aborted {
  static constexpr RecordType kType = RecordType::aborted;
  std::uint32_t error = 0;
  std::string text;

  template <class Self, class Archive>
  static void fields(Self& self, Archive& archive) {
    archive(self.error);
    archive(self.text);
  }
};

/// One record of a frame.
struct RecordView {
  RecordType type{};
  Bytes body;
};

/// Walks the records of a frame.
class Records {
 public:
  explicit Records(Bytes frame) : reader_(frame) {}

  /// False at the end of the frame, or where it makes no sense: see ok().
  bool next(RecordView& record) {
    if (reader_.rest().empty()) return false;
    RecordHeader header;
    RecordHeader::fields(header, reader_);
    const Bytes rest = reader_.rest();
    ok_ = reader_.ok() && header.length <= rest.size();
    if (!ok_) return false;
    record = {static_cast<RecordType>(header.type), rest.first(header.length)};
    reader_ = Reader(rest.subspan(header.length));
    return true;
  }
  bool ok() const { return ok_; }

 private:
  Reader reader_;
  bool ok_ = true;
};

}  // namespace softrnic::copy
