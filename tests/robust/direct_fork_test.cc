// The owner of memory that others write forks: they go on to write its memory, never the child's.
// DIRECT_ROUNDS is how often.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <vector>

#include "direct_ways.h"
#include "patience.h"

namespace softrnic::robust {
namespace {

/// Writes numbers until it is told to end, all of them without packets once it has begun to.
int write_numbers(const Way& way, const Line& line) {
  Side side(way.memory());
  Card peer;
  if (!meet(side, line, peer)) return fail(refused, "a connection");
  if (!write_until_it_goes(way, side, peer)) return not_as_expected;
  if (!line.tell()) return fail(no_peer, "a peer");
  const std::uint64_t before = counted(ib::Counter::direct_bytes);
  std::uint64_t messages = 0;
  for (; !line.told(); ++messages) {
    std::memset(memory_of(side), static_cast<int>(messages), Side::kBytes);
    if (!write_once(side, peer, Side::kBytes)) return not_as_expected;
  }
  if (!line.hear() || !line.tell()) return fail(no_peer, "a peer");
  const std::uint64_t direct = (counted(ib::Counter::direct_bytes) - before) / Side::kBytes;
  if (direct < messages) return fail(not_as_expected, "WRITEs without packets");
  return side.close() ? done : fail(refused, "an end");
}

/// Whether the writer is at work here: what it has written changes.
bool is_written(const std::uint8_t* memory) {
  const auto first = [memory] { return __atomic_load_n(memory, __ATOMIC_ACQUIRE); };
  Patience patience{std::chrono::seconds(10)};
  for (const std::uint8_t before = first(); first() == before;)
    if (patience.over()) return false;
  return true;
}

/// Has the memory as it was at the fork, destroys what its parent uses, and uses a device of its
/// own for the same memory.
int be_the_child(const Way& way, Side& parents, std::uint8_t* memory) {
  const std::vector<std::uint8_t> at_fork(memory, memory + Side::kBytes);
  if (!parents.close()) return fail(refused, "an end of what was the parent's");
  Couple own;
  if (!own.open() || own.talk(0) != 0 || !own.close()) return fail(refused, "a device of its own");
  const bool same = std::equal(at_fork.begin(), at_fork.end(), memory);
  return same || way.mapped ? done : fail(wrong_bytes, "memory as it was at the fork");
}

int fork_while_written(const Way& way, const Line& line, unsigned count) {
  Side side(way.memory());
  Card peer;
  if (!meet(side, line, peer) || !line.hear()) return fail(refused, "a connection");
  std::uint8_t* const memory = memory_of(side);
  for (unsigned i = 0; i < count; ++i) {
    if (in_child([&] { return be_the_child(way, side, memory); }) != done) return not_as_expected;
    if (!is_written(memory)) return fail(not_as_expected, "a writer that goes on");
  }
  if (!line.tell() || !line.hear()) return fail(no_peer, "a peer");
  return side.close() ? done : fail(refused, "an end");
}

TEST_P(DirectTest, WhoForksIsWrittenAndNotTheChild) {
  const unsigned count = rounds(20);
  const int seconds = 60 + static_cast<int>(count / 20);
  Lines lines;
  const pid_t target =
      start_child([&] { return fork_while_written(GetParam(), Line(lines.a.get()), count); });
  const pid_t writer = start_child([&] { return write_numbers(GetParam(), Line(lines.b.get())); });
  EXPECT_EQ(end_of(target, seconds), done);
  EXPECT_EQ(end_of(writer, seconds), done);
}

}  // namespace
}  // namespace softrnic::robust
