#include "copy/receiver.h"

#include <algorithm>

namespace softrnic::copy {
namespace {

Unexpected<Error> nonsense(const char* what) {
  return fail(Trouble::protocol, std::string("the peer sent ") + what);
}

}  // namespace

Result<Destination> choose_destination(const Tree& tree, const std::string& path, std::uint32_t flags) {
  struct stat info {};
  const bool is_directory =
      fstatat(tree.open_at(path, O_PATH).get(), "", &info, AT_EMPTY_PATH) == 0 && S_ISDIR(info.st_mode);
  Destination out;
  const bool into = is_directory || (flags & kIntoDirectory) != 0;
  const auto [folder, name] = split_path(path);
  auto parent = tree.sub(folder);
  if (!parent)
    return fail(Trouble::refused, (folder.empty() ? "." : folder) + ": " + std::strerror(parent.error().code),
                parent.error().code);
  if (into && !is_directory && (flags & kDryRun) == 0 && mkdirat(parent->fd(), name.c_str(), 0777) != 0)
    return fail_errno(path, errno, Trouble::refused);
  if (!into || !(is_directory || (flags & kDryRun) == 0)) {
    out.tree = std::move(*parent);
    out.new_name = name;
    return out;
  }
  auto folder_itself = tree.sub(path);
  if (!folder_itself) return Unexpected{folder_itself.error()};
  out.tree = std::move(*folder_itself);
  return out;
}

Result<Finished> Receiver::run() {
  while (!ended_) {
    const auto bytes = stream_.next();
    if (!bytes) return Unexpected{bytes.error()};
    const auto handled = frame(*bytes);
    stream_.release();
    if (!handled) return Unexpected{handled.error()};
    if (number_ != told_) {
      told_ = number_;
      if (const auto put = stream_.put(Done{number_}); !put) return Unexpected{put.error()};
    }
    if (!stream_.has_next() || ended_)
      if (const auto flushed = stream_.flush(); !flushed) return Unexpected{flushed.error()};
  }
  finish_directories();
  if (const auto put = stream_.put(finished_); !put) return Unexpected{put.error()};
  if (const auto settled = stream_.settle(); !settled) return Unexpected{settled.error()};
  return finished_;
}

Result<void> Receiver::frame(Bytes bytes) {
  Records records(bytes);
  RecordView view;
  while (records.next(view)) {
    if (ended_) return nonsense("more after its end");
    if (const auto handled = record(view.type, view.body); !handled) return handled;
  }
  return records.ok() ? Handled{} : nonsense("a torn frame");
}

template <typename Record>
Result<void> Receiver::parse(Bytes body, Handled (Receiver::*take)(const Record&)) {
  Record record;
  return decode(record, body) ? (this->*take)(record) : nonsense("a torn record");
}

Result<void> Receiver::record(RecordType type, Bytes body) {
  switch (type) {
    case RecordType::totals:
      return parse<Totals>(body, &Receiver::take_totals);
    case RecordType::directory:
      return parse<Directory>(body, &Receiver::take_directory);
    case RecordType::symlink:
      return parse<Symlink>(body, &Receiver::take_symlink);
    case RecordType::offer:
      return parse<Offer>(body, &Receiver::take_offer);
    case RecordType::file:
      return parse<File>(body, &Receiver::take_file);
    case RecordType::chunk:
      return take_chunk(body);
    case RecordType::same:
      return parse<Same>(body, &Receiver::take_same);
    case RecordType::file_end:
      return parse<FileEnd>(body, &Receiver::take_file_end);
    case RecordType::listing:
      return parse<Listing>(body, &Receiver::take_listing);
    case RecordType::unreadable:
      return parse<Unreadable>(body, &Receiver::take_unreadable);
    case RecordType::aborted:
      return parse<Aborted>(body, &Receiver::take_aborted);
    case RecordType::end:
      ended_ = !in_file_;
      return ended_ ? Handled{} : nonsense("an end within a file");
    default:
      return nonsense("a record that has no place here");
  }
}

Result<void> Receiver::failed(std::uint64_t number, int error, const std::string& path,
                              const std::string& text, bool again) {
  if (!again) {
    ++finished_.failures;
    observer_.trouble(path, error, text.empty() ? std::strerror(error) : text);
  }
  Failed record;
  record.number = number;
  record.error = static_cast<std::uint32_t>(error);
  record.again = again ? 1 : 0;
  record.path = path;
  record.text = text;
  if (const auto put = stream_.put(record); !put) return put;
  return stream_.flush();  // the sender need not go on with it
}

Result<void> Receiver::count_up(std::uint64_t number) {
  if (number <= number_ || in_file_) return nonsense("things out of their order");
  number_ = number;
  return {};
}

Result<void> Receiver::note(const std::string& what, const std::string& path) {
  observer_.notice(what, path);
  Notice notice;
  notice.what = what;
  notice.path = path;
  return stream_.put(notice);
}

std::string Receiver::mapped(const std::string& path) const {
  if (destination_.new_name.empty() || path.empty()) return path;
  const std::size_t slash = path.find('/');
  return destination_.new_name + (slash == std::string::npos ? "" : path.substr(slash));
}

bool Receiver::place_of(const std::string& path, int& directory, std::string& name, int& error) {
  error = EINVAL;
  if (!is_clean_path(path) || path.empty()) return false;
  directory = destination_.tree.parent_of(mapped(path), name);
  error = errno;
  return directory >= 0;
}

Result<void> Receiver::take_totals(const Totals& totals) {
  observer_.totals(totals.files, totals.bytes);
  return {};
}

bool Receiver::is_newer_here(int directory, const std::string& name, const FileInfo& info) const {
  struct stat there {};
  if (fstatat(directory, name.c_str(), &there, AT_SYMLINK_NOFOLLOW) != 0) return false;
  return std::pair<std::int64_t, long>(there.st_mtim.tv_sec, there.st_mtim.tv_nsec) >=
         std::pair<std::int64_t, long>(info.metadata.mtime, info.metadata.mtime_ns);
}

bool Receiver::is_same_here(int directory, const std::string& name, const FileInfo& info) const {
  struct stat there {};
  return fstatat(directory, name.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(there.st_mode) &&
         static_cast<std::uint64_t>(there.st_size) == info.size &&
         there.st_mtim.tv_sec == info.metadata.mtime && there.st_mtim.tv_nsec == info.metadata.mtime_ns;
}

Result<void> Receiver::take_offer(const Offer& offer) {
  if (in_file_) return nonsense("an offer within a file");
  if (const auto offered = guard_.offered(offer.number, offer.path); !offered) return offered;
  Answer answer;
  answer.number = offer.number;
  answer.verdict = static_cast<std::uint8_t>(Verdict::send);
  int directory = -1, error = 0;
  std::string name;
  if (place_of(offer.path, directory, name, error)) {
    const bool skip = (has(kUpdate) && is_newer_here(directory, name, offer)) ||
                      (has(kResume) && has(kPreserve) && is_same_here(directory, name, offer));
    if (skip) {
      answer.verdict = static_cast<std::uint8_t>(Verdict::skip);
      if (!has(kDryRun)) remove_leftovers(directory, name);
    } else if (has(kResume)) {
      answer.have = bytes_left_there(directory, name, offer);
    }
  }
  if (answer.verdict == static_cast<std::uint8_t>(Verdict::skip))
    ++finished_.skipped;
  else if (!has(kDryRun))
    guard_.accepted(answer.have);
  else if (const auto noted = note("would copy", offer.path); !noted)
    return noted;
  return stream_.put(answer);
}

Result<void> Receiver::take_file(const File& file) {
  if (const auto counted = count_up(file.number); !counted) return counted;
  if (const auto known = guard_.file(file.path, (file.flags & kContinued) != 0); !known) return known;
  --number_;  // not before its end
  file_ = file;
  in_file_ = true;
  next_offset_ = 0;
  fingerprint_ = {};
  output_.reset();
  observer_.file(file.path);
  if (has(kDryRun)) return lost_file(EROFS);
  if (destination_.pipe_fd >= 0) {
    output_ = std::make_unique<PipeOutput>(destination_.pipe_fd);
    return {};
  }
  int parent = -1, error = 0;
  std::string name;
  if (!place_of(file.path, parent, name, error)) return lost_file(error);
  const OutputOptions options{
      has(kPreserve), has(kSyncFiles),      has(kResume) && (file.flags & kUnknownSize) == 0,
      has(kVerify),   direct_io_of(flags_), &budget_};
  auto output = std::make_unique<FileOutput>(parent, name, file_, options);
  error = output->open();
  if (error != 0) return output.reset(), lost_file(error, error == EBUSY ? "another copy of it goes on" : "");
  output_ = std::move(output);
  return {};
}

/// The current file will not come about; its chunks are passed over.
Result<void> Receiver::lost_file(int error, const std::string& text, bool again) {
  output_.reset();
  if (again) {
    if (const auto held = memory_.add(Budget::cost_of(file_.path)); !held) return held;
    guard_.wanted_again(file_.path);
  }
  return failed(file_.number, error, file_.path, text, again);
}

Result<void> Receiver::take_chunk(Bytes body) {
  Chunk chunk;
  if (!decode(chunk, body) || body.size() < size_of(chunk) + chunk.length) return nonsense("a torn chunk");
  if (!in_file_ || chunk.offset < next_offset_ || chunk.offset + chunk.length < chunk.offset ||
      chunk.length == 0)
    return nonsense("a chunk that has no place here");
  next_offset_ = chunk.offset + chunk.length;
  if (output_ == nullptr) return {};
  const Bytes data = body.subspan(size_of(chunk), chunk.length);
  if (hash_of(data) != chunk.hash) return lost_file(EBADMSG, "damaged on the way: its checksum is wrong");
  fingerprint_.add(chunk.offset, chunk.length, chunk.hash);
  if (const int error = output_->write(chunk.offset, data, chunk.hash))
    return lost_file(error, "", error == EAGAIN);
  finished_.bytes += chunk.length;
  observer_.moved(chunk.length);
  return {};
}

Result<void> Receiver::take_same(const Same& same) {
  if (!in_file_ || (file_.flags & kContinued) == 0 || same.offset < next_offset_ ||
      same.offset + same.length < same.offset)
    return nonsense("a chunk that has no place here");
  next_offset_ = same.offset + same.length;
  if (output_ == nullptr) return {};
  if (!output_->has(same.offset, same.length, same.hash)) return lost_file(EAGAIN, "", true);
  fingerprint_.add(same.offset, same.length, same.hash);
  finished_.reused += same.length;
  observer_.moved(same.length);
  return stream_.tick();
}

Result<void> Receiver::take_file_end(const FileEnd& end) {
  if (!in_file_) return nonsense("the end of no file");
  in_file_ = false;
  number_ = file_.number;
  if (output_ == nullptr) return {};
  if (end.error != 0) return output_.reset(), Handled{};  // the sender says so itself
  if (end.size < next_offset_) return nonsense("a file longer than its size");
  if (end.hash != fingerprint_.value()) return lost_file(EBADMSG, "damaged on the way: parts are missing");
  const int error = output_->finish(end.size);
  if (error == EAGAIN) return lost_file(error, "", true);
  if (error != 0)
    return lost_file(error, error == EBADMSG ? "what was written is not what was read back" : "");
  output_.reset();
  ++finished_.files;
  return {};
}

Result<void> Receiver::take_listing(const Listing& listing) {
  if (in_file_) return nonsense("a listing within a file");
  if (const auto known = guard_.listing(listing.path, listing.last != 0); !known) return known;
  for (std::size_t at = 0; at < listing.names.size();) {
    const std::size_t end = listing.names.find('\0', at);
    if (end == std::string::npos) return nonsense("a listing without end");
    const std::string name = listing.names.substr(at, end - at);
    if (const auto held = listed_memory_.add(Budget::cost_of(name)); !held) return held;
    listed_.insert(name);
    at = end + 1;
  }
  if (listing.last == 0) return {};
  const auto removed = remove_others(listing.path);
  listed_.clear();
  listed_memory_.release();
  return removed;
}

Result<void> Receiver::take_unreadable(const Unreadable& unreadable) {
  if (unreadable.error != 0) {
    ++finished_.failures;
    trouble_at_source_ = true;
  }
  observer_.trouble(unreadable.path, static_cast<int>(unreadable.error), unreadable.text);
  return {};
}

Result<void> Receiver::take_aborted(const Aborted& aborted) {
  return fail(Trouble::refused, aborted.text, static_cast<int>(aborted.error));
}

}  // namespace softrnic::copy
