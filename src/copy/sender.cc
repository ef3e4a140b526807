#include "copy/sender.h"

#include <poll.h>

#include <algorithm>

namespace softrnic::copy {
namespace {

/// Files that were sent with --resume and of which the receiver has not told yet.
constexpr std::size_t kMostOnTheWay = 4096;

Metadata metadata_of(const struct stat& info) {
  return {info.st_mode & 07777, info.st_uid, info.st_gid, info.st_mtim.tv_sec,
          static_cast<std::uint32_t>(info.st_mtim.tv_nsec)};
}

FileInfo file_info(std::uint64_t number, const std::string& path, const struct stat& info) {
  FileInfo out;
  out.number = number;
  out.metadata = metadata_of(info);
  out.size = static_cast<std::uint64_t>(info.st_size);
  const bool sparse = static_cast<std::uint64_t>(info.st_blocks) * 512 < out.size;
  out.flags = sparse ? static_cast<std::uint32_t>(kSparse) : 0;
  out.path = path;
  return out;
}

}  // namespace

UniqueFd Origin::open(const std::string& path, int flags) const {
  if (tree_ == nullptr) return UniqueFd(::open(path.empty() ? "." : path.c_str(), flags | O_CLOEXEC));
  return tree_->open_at(path, flags);
}

Sender::Sender(Stream& stream, Origin origin, const Job& job, const FilterList& filters, Budget& memory,
               Observer& observer)
    : stream_(stream),
      origin_(origin),
      job_(job),
      filters_(filters),
      memory_(memory),
      observer_(observer),
      begin_(Clock::now()) {
  stream_.consume_with([this](Bytes frame) { return hear(frame); });
}

Result<Finished> Sender::run(const std::vector<std::string>& sources) {
  Sent sent = {};
  if (has(kTotals)) {
    const auto totals = count(origin_, sources, has(kRecursive), memory_);
    if (!totals) return Unexpected{totals.error()};
    observer_.totals(totals->files, totals->bytes);
    sent = stream_.put(*totals);
  }
  if (sent) sent = walk_all(sources);
  if (sent) sent = settle_offers();
  if (sent) sent = send_again();
  if (sent) sent = stream_.put(End{});
  if (sent) sent = wait_until([this] { return finished_here_; });
  return sent ? Result<Finished>(finished_) : Unexpected{sent.error()};
}

template <typename Until>
Result<void> Sender::wait_until(Until until) {
  if (const auto flushed = stream_.flush(); !flushed) return flushed;
  while (!until())
    if (const auto waited = stream_.wait(Clock::now() + kHeartbeat); !waited) return waited;
  return {};
}

Result<void> Sender::offer_or_send(const Entry& entry, const struct stat& info) {
  if (!is_negotiated()) return send_file(entry, 0);
  Offer offer;
  static_cast<FileInfo&>(offer) = file_info(++offers_, entry.path, info);
  if (const auto put = stream_.put(offer); !put) return put;
  offered_.push_back({offer.number, entry});
  return offered_.size() < kMostOffered ? Sent{} : answer_oldest();
}

/// Sends what the receiver wants of the offer that it got first.
Result<void> Sender::answer_oldest() {
  if (const auto waited = wait_until([this] { return !answers_.empty(); }); !waited) return waited;
  const Waiting oldest = offered_.front();
  const Answer answer = answers_.front();
  offered_.pop_front();
  answers_.pop_front();
  if (answer.number != oldest.number)
    return fail(Trouble::protocol, "the peer answered to what was not offered");
  if (has(kDryRun) || answer.verdict != static_cast<std::uint8_t>(Verdict::send)) return {};
  return send_file(oldest.entry, answer.have);
}

Result<void> Sender::settle_offers() {
  while (!offered_.empty())
    if (const auto answered = answer_oldest(); !answered) return answered;
  return {};
}

void Sender::forget_done() {
  while (!on_the_way_.empty() && on_the_way_.front().number <= done_) on_the_way_.pop_front();
}

/// Files of which the receiver had a part that proved to be another's.
Result<void> Sender::send_again() {
  if (!has(kResume) || has(kDryRun)) return {};
  for (;;) {
    if (const auto waited = wait_until([this] { return done_ >= number_; }); !waited) return waited;
    if (again_.empty()) return {};
    const Entry entry = again_.front();
    again_.pop_front();
    if (const auto sent = send_file(entry, 0); !sent) return sent;
  }
}

Result<void> Sender::send_file(const Entry& entry, std::uint64_t have) {
  const UniqueFd file = origin_.open(entry.local, O_RDONLY | O_NONBLOCK | O_NOCTTY);
  struct stat info {};
  if (!file || fstat(file.get(), &info) != 0) return unreadable(entry.path, errno);
  if (!S_ISREG(info.st_mode)) return unreadable(entry.path, 0, "it is no regular file any more");
  File record;
  static_cast<FileInfo&>(record) = file_info(++number_, entry.path, info);
  if (have > record.size) have = 0;
  if (have > 0) record.flags |= kContinued;
  observer_.file(entry.path);
  if (const auto put = stream_.put(record); !put) return put;
  if (has(kResume)) {
    const auto room = [this] { return forget_done(), on_the_way_.size() < kMostOnTheWay; };
    if (!room())
      if (const auto waited = wait_until(room); !waited) return waited;
    on_the_way_.push_back({number_, entry});
  }
  int error = 0;
  BulkFile bulk(file.get(), direct_io_of(job_.flags), (record.flags & kSparse) == 0 ? record.size : 0);
  if (const auto sent = send_contents(bulk, record, have, error); !sent) return sent;
  if (const auto ended = end_file(record.size, error); !ended) return ended;
  if (error == 0 || error == ECANCELED) return {};
  return unreadable(entry.path, error, error == ENODATA ? "it was cut short while it was read" : "");
}

Result<void> Sender::send_contents(BulkFile& file, FileInfo& info, std::uint64_t have, int& error) {
  fingerprint_ = {};
  if ((info.flags & kSparse) == 0) return send_range(file, 0, info.size, have, error);
  for (off_t at = 0; static_cast<std::uint64_t>(at) < info.size && error == 0;) {
    const off_t data = lseek(file.fd(), at, SEEK_DATA);
    if (data < 0 && errno == ENXIO) return {};                         // a hole up to the end
    if (data < 0) return send_range(file, 0, info.size, have, error);  // the file system knows no holes
    const off_t hole = lseek(file.fd(), data, SEEK_HOLE);
    at = hole < 0 ? static_cast<off_t>(info.size) : hole;
    const auto end = std::min<std::uint64_t>(static_cast<std::uint64_t>(at), info.size);
    if (const auto sent = send_range(file, static_cast<std::uint64_t>(data), end, have, error); !sent)
      return sent;
  }
  return {};
}

Result<void> Sender::send_range(BulkFile& file, std::uint64_t begin, std::uint64_t end, std::uint64_t have,
                                int& error) {
  while (begin < end && error == 0) {
    if (lost_ == number_) {  // the receiver has given it up
      error = ECANCELED;
      return {};
    }
    const auto length = static_cast<std::uint32_t>(std::min<std::uint64_t>(kChunk, end - begin));
    const auto sent = begin + length <= have ? send_same(file, begin, length, error)
                                             : send_chunk(file, begin, length, error);
    if (!sent) return sent;
    begin += length;
    observer_.moved(length);
  }
  return {};
}

Result<void> Sender::send_chunk(BulkFile& file, std::uint64_t offset, std::uint32_t length, int& error) {
  while (length > 0) {
    const auto room = stream_.chunk_room(length);
    if (!room) return Unexpected{room.error()};
    Chunk chunk;
    chunk.offset = offset;
    chunk.length = static_cast<std::uint32_t>(room->size());
    error = file.read(offset, *room);
    if (error != 0) return {};
    chunk.hash = hash_of(*room);  // while it is in the cache
    fingerprint_.add(offset, chunk.length, chunk.hash);
    if (const auto put = stream_.put_chunk(chunk); !put) return put;
    if (const auto paced = pace(chunk.length); !paced) return paced;
    offset += chunk.length;
    length -= chunk.length;
  }
  return {};
}

Result<void> Sender::send_same(BulkFile& file, std::uint64_t offset, std::uint32_t length, int& error) {
  const MutableBytes bytes = scratch_.room(length);
  if (bytes.size() != length) return error = ENOMEM, Sent{};
  error = file.read(offset, bytes);
  if (error != 0) return {};
  Same same{offset, length, hash_of(bytes)};
  fingerprint_.add(offset, length, same.hash);
  if (const auto put = stream_.put(same); !put) return put;
  return stream_.tick();
}

Result<void> Sender::end_file(std::uint64_t size, int error) {
  FileEnd end;
  end.size = size;
  end.hash = fingerprint_.value();
  end.error = static_cast<std::uint32_t>(error);
  return stream_.put(end);
}

/// Standard input: as much as there is, until its end.
Result<void> Sender::send_stream(int fd) {
  File record;
  record.number = ++number_;
  record.metadata.mode = 0666;
  record.flags = kUnknownSize;
  record.path = "stdin";
  if (const auto put = stream_.put(record); !put) return put;
  fingerprint_ = {};
  std::uint64_t offset = 0;
  int error = 0;
  while (error == 0 && lost_ != number_) {
    pollfd waiting{fd, POLLIN, 0};
    while (poll(&waiting, 1, 100) == 0) {  // the connection lives on while nothing comes
      if (const auto flushed = stream_.flush(); !flushed) return flushed;
      if (const auto ticked = stream_.tick(); !ticked) return ticked;
    }
    const auto room = stream_.chunk_room(kChunk);
    if (!room) return Unexpected{room.error()};
    const ssize_t got = read(fd, room->data(), room->size());
    if (got == 0) break;
    if (got < 0 && errno != EINTR && errno != EAGAIN) error = errno;
    if (got <= 0) continue;
    Chunk chunk;
    chunk.offset = offset;
    chunk.length = static_cast<std::uint32_t>(got);
    chunk.hash = hash_of(room->first(chunk.length));
    fingerprint_.add(offset, chunk.length, chunk.hash);
    if (const auto put = stream_.put_chunk(chunk); !put) return put;
    if (const auto paced = pace(chunk.length); !paced) return paced;
    offset += chunk.length;
    observer_.moved(chunk.length);
  }
  if (lost_ == number_) error = ECANCELED;
  if (const auto ended = end_file(offset, error); !ended) return ended;
  return error == 0 || error == ECANCELED ? Sent{} : unreadable("standard input", error);
}

/// --bwlimit: goes on when what was sent is due.
Result<void> Sender::pace(std::size_t bytes) {
  if (job_.bytes_per_second == 0) return {};
  paced_ += bytes;
  const auto due = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(
      static_cast<double>(paced_) / static_cast<double>(job_.bytes_per_second)));
  if (Clock::now() >= begin_ + due) return {};
  if (const auto flushed = stream_.flush(); !flushed) return flushed;
  while (Clock::now() < begin_ + due)
    if (const auto waited = stream_.wait(begin_ + due); !waited) return waited;
  return {};
}

Result<void> Sender::unreadable(const std::string& path, int error, const std::string& text) {
  Unreadable record;
  record.error = static_cast<std::uint32_t>(error);
  record.path = path;
  record.text = text.empty() ? std::strerror(error) : text;
  observer_.trouble(path, error, record.text);
  return stream_.put(record);
}

Result<void> Sender::hear(Bytes frame) {
  Records records(frame);
  RecordView view;
  while (records.next(view))
    if (const auto heard = hear_record(view.type, view.body); !heard) return heard;
  return records.ok() ? Sent{} : fail(Trouble::protocol, "the peer sent a torn frame");
}

Result<void> Sender::hear_failed(const Failed& failed) {
  if (failed.number != 0) lost_ = failed.number;
  if (failed.again == 0) {
    const int error = static_cast<int>(failed.error);
    observer_.trouble(failed.path, error, failed.text.empty() ? std::strerror(error) : failed.text);
    return {};
  }
  const auto one = std::find_if(on_the_way_.begin(), on_the_way_.end(),
                                [&failed](const Waiting& sent) { return sent.number == failed.number; });
  if (one != on_the_way_.end()) {
    again_.push_back(std::move(one->entry));
    on_the_way_.erase(one);
    return {};
  }
  return fail(Trouble::protocol, "the peer wants again what it did not get");
}

Result<void> Sender::hear_record(RecordType type, Bytes body) {
  bool good = true;
  if (type == RecordType::done) {
    Done done;
    good = decode(done, body) && done.number >= done_ && done.number <= number_;
    if (good) done_ = done.number;
  } else if (type == RecordType::answer) {
    Answer answer;
    good = decode(answer, body) && answers_.size() < offered_.size();
    if (good) answers_.push_back(answer);
  } else if (type == RecordType::failed) {
    Failed failed;
    good = decode(failed, body);
    if (good) return hear_failed(failed);
  } else if (type == RecordType::notice) {
    Notice notice;
    good = decode(notice, body);
    if (good) observer_.notice(notice.what, notice.path);
  } else if (type == RecordType::finished) {
    good = decode(finished_, body);
    finished_here_ = good;
  } else if (type == RecordType::aborted) {
    Aborted aborted;
    good = decode(aborted, body);
    if (good) return fail(Trouble::refused, aborted.text, static_cast<int>(aborted.error));
  } else {
    good = false;
  }
  return good ? Sent{} : fail(Trouble::protocol, "the peer sent an answer that makes no sense");
}

}  // namespace softrnic::copy
