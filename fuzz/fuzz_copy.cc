// Input: what a peer of softrnic cp may say: a frame of records, or a message of the greeting.
// Whatever comes, each structure is refused, or is what it was encoded from; a path that
// passes as clean has no way up.
#include <vector>

#include "copy/filter_list.h"
#include "copy/greeting.h"
#include "copy/records.h"
#include "copy/tree.h"
#include "fuzz/check.h"

using namespace softrnic;
using namespace softrnic::copy;

namespace {

void check_path(const std::string& path) {
  if (!is_clean_path(path)) return;
  const std::string around = "/" + path + "/";
  FUZZ_CHECK(around.find("/../") == std::string::npos && around.find("/./") == std::string::npos);
  FUZZ_CHECK(path.find('\0') == std::string::npos && !path.starts_with('/'));
}

template <typename Structure>
void check(Bytes body) {
  Structure structure;
  if (!decode(structure, body)) return;
  std::vector<std::byte> again(size_of(structure));
  FUZZ_CHECK(encode(structure, again) == again.size());
  FUZZ_CHECK(again.size() <= body.size() && std::equal(again.begin(), again.end(), body.begin()));
  if constexpr (requires { structure.path; }) check_path(structure.path);
}

template <typename... Structures>
void check_record(RecordType type, Bytes body) {
  ((Structures::kType == type ? check<Structures>(body) : void()), ...);
}

template <typename... Structures>
void check_message(Bytes message) {
  ((Structures::kType == type_of(message) ? check<Structures>(message.subspan(1)) : void()), ...);
}

template <typename Structure>
void check_behind(Bytes message) {
  Structure structure;
  QueuePairNames names;
  if (!read_message(structure, message) || !read_behind(names, structure, message)) return;
  check<QueuePairNames>(message.subspan(1 + size_of(structure)));
}

void check_filter(Bytes body) {
  Filter filter;
  if (!decode(filter, body) || filter.pattern.find('\0') != std::string::npos) return;
  FilterList list;
  list.add(filter);
  list.excludes("some/path", false);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Bytes input(reinterpret_cast<const std::byte*>(data), size);
  if (!input.empty()) check_message<Hello, Challenge, Proof, Welcome, Refusal, Credit, Wake>(input);
  check_behind<Proof>(input);
  check_behind<Welcome>(input);
  Records records(input);
  RecordView record;
  std::size_t taken = 0;
  while (records.next(record)) {
    taken += kRecordHeader + record.body.size();
    FUZZ_CHECK(taken <= size);
    check_record<Job, Source, Filter, Begin, Ready, Answer, Done, Failed, Finished, Aborted, Totals,
                 Directory, Symlink, File, Chunk, Same, FileEnd, Offer, Listing, Unreadable, End, Notice>(
        record.type, record.body);
    if (record.type == RecordType::filter && record.body.size() < 256) check_filter(record.body);
  }
  FUZZ_CHECK(!records.ok() || taken == size);
  return 0;
}
