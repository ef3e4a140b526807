// The direct path between two processes, by cross-memory attach and through memory that is mapped: the target is not woken,
// and nobody reaches memory after its deregistration, how ever the visitors end. DIRECT_ROUNDS is how often the random tests
// repeat.
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>

#include "control/page_reader.h"
#include "two_children.h"

namespace softrnic::robust {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kBytes = Side::kBytes;
constexpr std::uint8_t kWritten = 0xaa, kOwn = 0x55;

bool post_write(Side& side, const Card& peer, std::uint32_t bytes) {
  ibv_sge sge{side.card().address, bytes, side.mr->lkey};
  ibv_send_wr wr{}, *bad = nullptr;
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.opcode = IBV_WR_RDMA_WRITE;
  wr.send_flags = IBV_SEND_SIGNALED;
  wr.wr.rdma.remote_addr = peer.address;
  wr.wr.rdma.rkey = peer.rkey;
  return ibv_post_send(side.qp, &wr, &bad) == 0;
}

/// Of a process, dead or alive.
std::uint64_t counter_of(pid_t pid, ib::Counter counter) {
  auto client = control::Client::connect({.daemon_path = {}, .spawn = false});
  auto pages = client ? (*client)->pages() : Unexpected{client.error()};
  std::uint64_t sum = 0;
  if (!pages) return sum;
  for (const control::PageFd& page : *pages) {
    const auto reader = control::PageReader::open(page.fd.get());
    if (page.pid != pid || !reader) continue;
    for (const control::LaneView& lane : reader->lanes())
      sum += lane.counters[static_cast<std::size_t>(counter)];
  }
  return sum;
}

/// Both ways, by the memory of both sides.
struct Way {
  const char* name;
  Side::Memory (*memory)();
  bool mapped;
};
constexpr Way kWays[] = {{"attach", Side::own_memory, false}, {"mapped", Side::shared_memory, true}};
class DirectTest : public testing::TestWithParam<Way> {};
class DirectDeathTest : public testing::TestWithParam<Way> {};
std::string name_of(const testing::TestParamInfo<Way>& info) { return info.param.name; }

std::uint64_t mapped_bytes() { return counter_of(getpid(), ib::Counter::direct_mapped_bytes); }

/// Writes until that goes the way that it should, which takes a moment.
bool write_until_it_goes(const Way& way, Side& side, const Card& peer) {
  const auto limit = Clock::now() + std::chrono::seconds(10);
  do {
    ibv_wc wc{};
    if (!post_write(side, peer, 4096) || !side.next(wc) || wc.status != IBV_WC_SUCCESS) return false;
    if (counter_of(getpid(), ib::Counter::direct_messages) != 0 && (mapped_bytes() != 0) == way.mapped)
      return true;
  } while (Clock::now() < limit);
  return false;
}

// ---- the target sleeps

std::chrono::nanoseconds processor_time(pid_t pid) {
  clockid_t clock{};
  timespec time{};
  if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &time) != 0) return {};
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

std::uint64_t switches(pid_t pid) {
  std::uint64_t sum = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/task")) {
    std::ifstream status(task.path() / "status");
    for (std::string word; status >> word;) {
      std::uint64_t count = 0;
      if (word == "voluntary_ctxt_switches:" && status >> count) sum += count;
    }
  }
  return sum;
}

int sleeping_target(const Way& way, const Line& line) {
  Side side(way.memory());
  Card peer;
  if (!meet(side, line, peer)) return refused;
  if (!line.hear()) return no_peer;  // sleeps in recv() while it is written
  return memory_of(side)[0] == kWritten ? done : wrong_bytes;
}

struct Load {
  std::uint64_t switches = 0;
  std::chrono::nanoseconds time{};
  bool all_direct = false;
};

/// Writes until no packet is needed any more and `target` has gone to sleep, then 20,000 times. Its own process's counters
/// stand in its page.
int write_to_sleeper(const Way& way, const Line& line, pid_t target, Load& load) {
  Side side(way.memory());
  Card peer;
  if (!meet(side, line, peer)) return refused;
  if (!write_until_it_goes(way, side, peer)) return not_as_expected;
  memory_of(side)[0] = kWritten;
  const auto write_many = [&](unsigned count) {
    for (unsigned i = 0; i < count; ++i) {
      ibv_wc wc{};
      if (!post_write(side, peer, 4096) || !side.next(wc) || wc.status != IBV_WC_SUCCESS) return false;
    }
    return true;
  };
  const auto packets = [] { return counter_of(getpid(), ib::Counter::tx_packets); };
  std::uint64_t before = 0;
  const auto limit = Clock::now() + std::chrono::seconds(10);
  do {
    before = packets();
    if (!write_many(1000)) return not_as_expected;
  } while (packets() != before && Clock::now() < limit);
  const std::uint64_t switches_before = switches(target);
  const auto time_before = processor_time(target);
  if (!write_many(20'000)) return not_as_expected;
  load.switches = switches(target) - switches_before;
  load.time = processor_time(target) - time_before;
  load.all_direct = packets() == before;
  return line.tell() ? done : no_peer;
}

TEST_P(DirectTest, TheTargetSleepsWhileItIsWritten) {
  Lines lines;
  auto* const load =
      new (mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) Load;
  const pid_t target = start_child([&] { return sleeping_target(GetParam(), Line(lines.a.get())); });
  const pid_t writer =
      start_child([&] { return write_to_sleeper(GetParam(), Line(lines.b.get()), target, *load); });
  EXPECT_EQ(end_of(writer, 60), done);
  EXPECT_EQ(end_of(target), done);
  EXPECT_TRUE(load->all_direct);
  // its rows in the control page are brought up to date once, 100 ms after the last change
  EXPECT_LE(load->switches, 3U);
  EXPECT_LT(load->time, std::chrono::milliseconds(2));
}

// ---- deregistration

/// One round: lets the peer write, takes the region away, and looks whether it changes afterwards.
int take_region_away(const Side::Memory& buffers, const Line& line, std::mt19937& dice) {
  Side side(buffers);
  Card peer;
  if (!meet(side, line, peer)) return refused;
  std::uint8_t* const memory = memory_of(side);
  pass(std::chrono::nanoseconds(dice() % 200'000));
  if (ibv_dereg_mr(side.mr) != 0) return refused;
  side.mr = nullptr;
  std::memset(memory, kOwn, kBytes);
  for (int look = 0; look < 4; ++look) {
    pass(std::chrono::microseconds(5));
    if (std::any_of(memory, memory + kBytes, [](std::uint8_t byte) { return byte != kOwn; }))
      return wrong_bytes;
  }
  if (!line.hear()) return no_peer;
  return side.close() ? done : refused;
}

int write_until_refused(const Side::Memory& buffers, const Line& line, std::mt19937& dice) {
  Side side(buffers);
  Card peer;
  if (!meet(side, line, peer)) return refused;
  std::memset(memory_of(side), kWritten, kBytes);
  for (ibv_wc wc{}; wc.status == IBV_WC_SUCCESS;) {
    const bool whole = dice() % 4 != 0;
    if (!post_write(side, peer, whole ? kBytes : 1 + static_cast<std::uint32_t>(dice() % kBytes)))
      return refused;
    if (!side.next(wc)) return not_as_expected;
    if (wc.status != IBV_WC_SUCCESS && wc.status != IBV_WC_REM_ACCESS_ERR) return not_as_expected;
  }
  if (!line.tell()) return no_peer;
  return side.close() ? done : refused;
}

/// `round` again and again, with a lane and buffers that stay. So many messages must have gone without packets, and as the
/// way says.
template <typename Round>
int repeat(const Way& way, const Line& line, unsigned count, unsigned seed, unsigned direct, Round round) {
  const Side::Memory buffers = way.memory();
  Side keeper(buffers);
  if (!keeper.open()) return refused;
  std::mt19937 dice(seed);
  for (unsigned i = 0; i < count; ++i)
    if (const int failed = round(buffers, line, dice)) return failed;
  if (counter_of(getpid(), ib::Counter::direct_messages) < direct) return not_as_expected;
  const std::uint64_t least = way.mapped && direct != 0 ? std::uint64_t{direct} * kBytes / 2 : 0;
  if (mapped_bytes() < least || (!way.mapped && mapped_bytes() != 0)) return not_as_expected;
  return keeper.close() ? done : refused;
}

TEST_P(DirectTest, NothingIsWrittenAfterDeregistration) {
  const unsigned count = rounds(500);
  const int seconds = 60 + static_cast<int>(count / 50);
  Lines lines;
  const pid_t target =
      start_child([&] { return repeat(GetParam(), Line(lines.a.get()), count, 1, 0, take_region_away); });
  const pid_t writer = start_child(
      [&] { return repeat(GetParam(), Line(lines.b.get()), count, 2, count, write_until_refused); });
  EXPECT_EQ(end_of(writer, seconds), done);
  EXPECT_EQ(end_of(target, seconds), done);
}

// ---- death

/// Writes until that fails; tells `tester` when it is at it.
int write_until_it_fails(const Way& way, std::uint8_t timeout, const Line& line, const Line& tester) {
  Side side(way.memory());
  Card peer;
  if (!meet(side, line, peer, timeout)) return refused;
  std::memset(memory_of(side), kWritten, kBytes);
  if (!write_until_it_goes(way, side, peer)) return not_as_expected;
  if (!tester.tell()) return no_peer;
  for (;;) {
    ibv_wc wc{};
    if (!post_write(side, peer, kBytes) || !side.next(wc)) return not_as_expected;
    if (wc.status == IBV_WC_RETRY_EXC_ERR) return done;
    if (wc.status != IBV_WC_SUCCESS) return not_as_expected;
  }
}

/// Is written until `tester` says that the writer is dead, and takes its memory back.
int outlive_the_writer(const Way& way, const Line& line, const Line& tester) {
  Side side(way.memory());
  Card peer;
  if (!meet(side, line, peer)) return refused;
  if (!tester.hear()) return no_peer;
  std::uint8_t* const memory = memory_of(side);
  if (ibv_dereg_mr(side.mr) != 0) return refused;
  side.mr = nullptr;
  std::memset(memory, kOwn, kBytes);
  if (std::any_of(memory, memory + kBytes, [](std::uint8_t byte) { return byte != kOwn; }))
    return wrong_bytes;
  return side.close() ? done : refused;
}

/// Two processes, of which one writes to the other.
struct Round {
  Round(const Way& chosen, std::uint8_t code) : way(chosen), timeout(code) {}

  const Way& way;
  const std::uint8_t timeout;  ///< of the writer
  Lines lines, to_target, to_writer;
  pid_t target =
      start_child([this] { return outlive_the_writer(way, Line(lines.a.get()), Line(to_target.b.get())); });
  pid_t writer = start_child(
      [this] { return write_until_it_fails(way, timeout, Line(lines.b.get()), Line(to_writer.b.get())); });
};

/// Kills one of them at a random moment.
void kill_at_random(const Round& round, pid_t victim, std::mt19937& dice) {
  ASSERT_TRUE(Line(round.to_writer.a.get()).hear());
  pass(std::chrono::nanoseconds(dice() % 100'000));
  kill(victim, SIGKILL);
  EXPECT_EQ(end_of(victim), -SIGKILL);
}

TEST_P(DirectDeathTest, AWriterThatDiesInsideHoldsNobodyUp) {
  std::mt19937 dice(3);
  for (unsigned i = 0; i < rounds(20); ++i) {
    const Round round(GetParam(), 14);
    kill_at_random(round, round.writer, dice);
    ASSERT_TRUE(Line(round.to_target.a.get()).tell());
    ASSERT_EQ(end_of(round.target), done) << "round " << i;
  }
}

TEST_P(DirectDeathTest, WhoWritesToTheDeadSeesRetriesExceeded) {
  std::mt19937 dice(4);
  for (unsigned i = 0; i < rounds(20); ++i) {
    const Round round(GetParam(), 10);  // 4 ms to the first retry
    kill_at_random(round, round.target, dice);
    ASSERT_EQ(end_of(round.writer), done) << "round " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, DirectTest, testing::ValuesIn(kWays), name_of);
INSTANTIATE_TEST_SUITE_P(Ways, DirectDeathTest, testing::ValuesIn(kWays), name_of);

}  // namespace
}  // namespace softrnic::robust
