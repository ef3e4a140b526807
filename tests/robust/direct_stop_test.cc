// A process is stopped in the middle of an access to the memory of another one, which takes that memory
// away meanwhile: it does not wait for long, and nothing is accessed when the other one goes on.
// DIRECT_ROUNDS is how often.
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include <chrono>
#include <cstring>
#include <random>

#include "direct_ways.h"

namespace softrnic::robust {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kLong = std::chrono::seconds(20);  ///< only a wait for the stopped one lasts so long
/// Whoever waited for so long has waited for a visitor that did not leave.
constexpr auto kWaited = std::chrono::milliseconds(1);

/// Writes until that is refused; tells `tester` when it is at it.
int write_until_refused(const Way& way, const Line& line, const Line& tester) {
  Side side(way.memory());
  Card peer;
  if (!meet(side, line, peer)) return fail(refused, "a connection");
  std::memset(memory_of(side), kWritten, Side::kBytes);
  if (!write_until_it_goes(way, side, peer)) return not_as_expected;
  if (!tester.tell()) return fail(no_peer, "a tester");
  ibv_wc wc{};
  do {
    if (!post_write(side, peer, Side::kBytes)) return fail(refused, "a post");
    if (!side.next(wc)) return fail(not_as_expected, "a completion");
  } while (wc.status == IBV_WC_SUCCESS);
  if (wc.status != IBV_WC_REM_ACCESS_ERR) return fail(not_as_expected, "a remote access error", wc);
  return line.tell() && side.close() ? done : fail(refused, "an end");
}

/// When the writer is stopped: takes its memory away, and queue pairs that have nothing to do with it; says
/// how long that took. When the writer goes on looks whether it comes back to the memory.
int take_away_from_the_stopped(const Way& way, const Line& line, const Line& tester) {
  Side side(way.memory());
  Couple others;
  Card peer;
  if (!meet(side, line, peer) || !others.open()) return fail(refused, "a connection");
  if (!tester.hear()) return fail(no_peer, "a tester");
  const auto begin = Clock::now();
  std::uint8_t* const memory = memory_of(side);
  if (ibv_dereg_mr(side.mr) != 0) return fail(refused, "a deregistration");
  side.mr = nullptr;
  if (!others.close()) return fail(refused, "an end of other queue pairs");
  const std::chrono::nanoseconds taken = Clock::now() - begin;
  std::memset(memory, kOwn, Side::kBytes);
  if (!tester.tell(taken) || !tester.hear()) return fail(no_peer, "a tester");
  if (!line.hear()) return fail(no_peer, "a writer that goes on");
  if (!holds_only(memory, kOwn)) return fail(wrong_bytes, "memory that is its owner's");
  return side.close() ? done : fail(refused, "an end");
}

void stop_by_signal(pid_t process) {
  int status = 0;
  kill(process, SIGSTOP);
  ASSERT_EQ(waitpid(process, &status, WUNTRACED), process);
  ASSERT_TRUE(WIFSTOPPED(status));
}
void go_on_by_signal(pid_t process) { kill(process, SIGCONT); }

void stop_by_debugger(pid_t process) {
  int status = 0;
  ASSERT_EQ(ptrace(PTRACE_SEIZE, process, nullptr, nullptr), 0);
  ASSERT_EQ(ptrace(PTRACE_INTERRUPT, process, nullptr, nullptr), 0);
  ASSERT_EQ(waitpid(process, &status, 0), process);
  ASSERT_TRUE(WIFSTOPPED(status));
}
void go_on_by_debugger(pid_t process) { ptrace(PTRACE_DETACH, process, nullptr, nullptr); }

struct Stop {
  void (*begin)(pid_t process);
  void (*end)(pid_t process);
};

/// How long the owner waited.
void play_round(const Way& way, const Stop& stop, std::mt19937& dice, std::chrono::nanoseconds& taken) {
  Lines lines, to_target, to_writer;
  const pid_t target = start_child(
      [&] { return take_away_from_the_stopped(way, Line(lines.a.get()), Line(to_target.b.get())); });
  const pid_t writer =
      start_child([&] { return write_until_refused(way, Line(lines.b.get()), Line(to_writer.b.get())); });
  const Line tester(to_target.a.get());
  ASSERT_TRUE(Line(to_writer.a.get()).hear());
  pass(std::chrono::nanoseconds(dice() % 100'000));
  stop.begin(writer);
  EXPECT_TRUE(tester.tell());
  const bool heard = tester.hear(taken);
  if (!heard) show_threads(target);
  stop.end(writer);
  ASSERT_TRUE(heard) << "the owner still waits";
  EXPECT_LT(taken, kLong);
  EXPECT_TRUE(tester.tell());
  ASSERT_EQ(end_of(writer), done);
  ASSERT_EQ(end_of(target), done);
}

/// The number of rounds in which somebody was inside.
unsigned play(const Way& way, const Stop& stop, unsigned count) {
  std::mt19937 dice(8);
  unsigned inside = 0;
  for (unsigned i = 0; i < count && !testing::Test::HasFailure(); ++i) {
    std::chrono::nanoseconds taken{};
    play_round(way, stop, dice, taken);
    inside += taken > kWaited ? 1 : 0;
  }
  return inside;
}

TEST_P(DirectDeathTest, NobodyWaitsForAWriterThatIsStoppedInside) {
  EXPECT_GT(play(GetParam(), {stop_by_signal, go_on_by_signal}, rounds(30)), 0U);
}

// In a system call it may be on its way in as well as on its way out.
TEST_P(DirectDeathTest, NobodyWaitsForAWriterThatIsDebugged) {
  if (!GetParam().mapped) GTEST_SKIP() << "whom a debugger stops at a system call is waited for";
  EXPECT_GT(play(GetParam(), {stop_by_debugger, go_on_by_debugger}, rounds(30)), 0U);
}

}  // namespace
}  // namespace softrnic::robust
