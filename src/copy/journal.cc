#include "copy/journal.h"

#include <fcntl.h>

#include "copy/checksum.h"
#include "copy/tree.h"

namespace softrnic::copy {
namespace {

constexpr std::size_t kFields = 28;
using Text = std::array<std::byte, kFields + sizeof(Hash)>;

std::string hidden_name(const std::string& name, const char* ending) {
  return ".softrnic-" + hex_of(hash_of(std::as_bytes(std::span(name)))) + ending;
}

}  // namespace

std::string part_name(const std::string& name) { return hidden_name(name, ".part"); }
std::string journal_name(const std::string& name) { return hidden_name(name, ".journal"); }

bool read_journal(int directory, const std::string& name, Progress& progress) {
  const UniqueFd file = open_own(directory, journal_name(name), O_RDONLY);
  Text text;
  if (!file || pread(file.get(), text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()))
    return false;
  Hash hash;
  std::memcpy(hash.data(), text.data() + kFields, hash.size());
  const Bytes fields = Bytes(text).first(kFields);
  return hash == hash_of(fields) && decode(progress, fields) && progress.finished <= progress.size;
}

bool Journal::open(int directory, const std::string& name, const Progress& start) {
  unlinkat(directory, journal_name(name).c_str(), 0);  // whosever it was
  file_ = open_own(directory, journal_name(name), O_WRONLY | O_CREAT | O_EXCL, 0600);
  progress_ = start;
  return file_ && write_down();
}

bool Journal::write_down() {
  Text text;
  encode(progress_, text);
  const Hash hash = hash_of(Bytes(text).first(kFields));
  std::memcpy(text.data() + kFields, hash.data(), hash.size());
  return pwrite(file_.get(), text.data(), text.size(), 0) == static_cast<ssize_t>(text.size());
}

void Journal::note(std::uint64_t finished) {
  if (!file_ || finished < progress_.finished + kStep) return;
  progress_.finished = finished;
  write_down();  // a journal that lags costs time, nothing else
}

}  // namespace softrnic::copy
