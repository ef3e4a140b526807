// Input: the size of a matching list, a message's header, and then the choices of a course of operations and
// messages (tests/support/tag_course.h). Whatever they are, the list does what the model does, and a header
// claims nothing that its message has not.
#include "fuzz/check.h"
#include "tests/support/tag_course.h"

using namespace softrnic;

namespace {

/// Takes the choices of a course from the input.
struct Choices {
  fuzz::Input& input;
  std::uint32_t operator()(std::uint32_t below) {
    const std::uint32_t choice = below <= 256 ? input.take<std::uint8_t>() : input.take<std::uint16_t>();
    return choice % below;
  }
};

void check_header(Bytes bytes, std::size_t size, bool whole) {
  using Kind = rnic::TagMessage::Kind;
  const Bytes first = bytes.first(std::min({bytes.size(), size, rnic::TagMessage::kLookahead}));
  const auto message = rnic::TagMessage::parse(first, size, whole);
  if (message.kind != Kind::untagged) FUZZ_CHECK(size >= rnic::TagMessage::kEagerHeader);
  if (message.kind != Kind::rendezvous) return;
  FUZZ_CHECK(whole && size >= rnic::TagMessage::kRendezvousHeader);
  FUZZ_CHECK(size <= rnic::limits::kMaxRendezvousHeader);
  FUZZ_CHECK(std::equal(first.begin(), first.end(), message.headers.begin()));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  const std::uint32_t tags = 1U + input.take<std::uint8_t>() % 9;
  const std::size_t claimed = input.take<std::uint8_t>();
  const bool whole = input.take<std::uint8_t>() % 2 == 0;
  const Bytes header = input.take_bytes(rnic::TagMessage::kLookahead);
  check_header(header, std::min(claimed, header.size()), whole);
  if (header.size() == rnic::TagMessage::kLookahead) check_header(header, header.size() + claimed, whole);
  Choices choices{input};
  test::TagCourse course(tags, choices);
  while (!input.empty()) FUZZ_CHECK(course.step() == nullptr);
  return 0;
}
