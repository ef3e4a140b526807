// The direct path between two processes, by cross-memory attach and through memory that is mapped: the
// target is not woken, and nobody reaches memory after its deregistration. DIRECT_ROUNDS is how often
// the random tests repeat.
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <utility>

#include "direct_ways.h"

namespace softrnic::robust {
namespace {

using Clock = std::chrono::steady_clock;

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

/// Waits until no thread of the process has run for a while: whatever a new connection gives
/// its threads to do is done.
bool falls_asleep(pid_t pid) {
  const auto limit = Clock::now() + std::chrono::seconds(10);
  for (std::uint64_t before = switches(pid); Clock::now() < limit;) {
    pass(std::chrono::milliseconds(300));
    if (const std::uint64_t now = switches(pid); std::exchange(before, now) == now) return true;
  }
  return false;
}

int sleeping_target(const Way& way, const Line& line) {
  Side side(way.memory());
  Card peer;
  if (!meet(side, line, peer)) return fail(refused, "a connection");
  if (!line.hear()) return fail(no_peer, "a word");  // sleeps in recv() while it is written
  return memory_of(side)[0] == kWritten ? done : fail(wrong_bytes, "the last WRITE");
}

struct Load {
  std::uint64_t switches = 0;
  std::chrono::nanoseconds time{};
  bool all_direct = false;
};

using Message = bool (*)(Side&, const Card&);

bool write_a_page(Side& side, const Card& peer) { return write_once(side, peer, 4096); }

/// As UCX does, and with a READ.
bool write_and_flush(Side& side, const Card& peer) {
  if (!post_write(side, peer, 4096) || !post_empty(side, IBV_WR_RDMA_WRITE) ||
      !post_empty(side, IBV_WR_RDMA_READ))
    return fail(refused, "a post") == done;
  for (int i = 0; i < 3; ++i) {
    ibv_wc wc{};
    if (!side.next(wc)) return fail(not_as_expected, "a completion") == done;
    if (wc.status != IBV_WC_SUCCESS) return fail(not_as_expected, "a success", wc) == done;
  }
  return true;
}

/// Writes until no packet is needed any more and `target` has gone to sleep, then sends 20,000 messages. Its
/// own process's counters stand in its page.
int write_to_sleeper(const Way& way, const Line& line, pid_t target, Message message, Load& load) {
  Side side(way.memory());
  Card peer;
  if (!meet(side, line, peer)) return fail(refused, "a connection");
  if (!write_until_it_goes(way, side, peer)) return not_as_expected;
  memory_of(side)[0] = kWritten;
  const auto write_many = [&](unsigned count) {
    for (unsigned i = 0; i < count; ++i)
      if (!message(side, peer)) return false;
    return true;
  };
  const auto packets = [] { return counted(ib::Counter::tx_packets); };
  std::uint64_t before = 0;
  const auto limit = Clock::now() + std::chrono::seconds(10);
  do {
    before = packets();
    if (!write_many(1000)) return not_as_expected;
  } while (packets() != before && Clock::now() < limit);
  if (!falls_asleep(target)) return fail(not_as_expected, "a target that sleeps");
  const std::uint64_t switches_before = switches(target);
  const auto time_before = processor_time(target);
  if (!write_many(20'000)) return not_as_expected;
  load.switches = switches(target) - switches_before;
  load.time = processor_time(target) - time_before;
  load.all_direct = packets() == before;
  return line.tell() ? done : no_peer;
}

void expect_sleep(const Way& way, Message message) {
  Lines lines;
  auto* const load =
      new (mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) Load;
  const pid_t target = start_child([&] { return sleeping_target(way, Line(lines.a.get())); });
  const pid_t writer =
      start_child([&] { return write_to_sleeper(way, Line(lines.b.get()), target, message, *load); });
  EXPECT_EQ(end_of(writer, 60), done);
  EXPECT_EQ(end_of(target), done);
  EXPECT_TRUE(load->all_direct);
  EXPECT_LE(load->switches, 1U);
  EXPECT_LT(load->time, std::chrono::milliseconds(2));
}

TEST_P(DirectTest, TheTargetSleepsWhileItIsWritten) { expect_sleep(GetParam(), write_a_page); }

TEST_P(DirectTest, TheTargetSleepsWhileTheWriterFlushes) { expect_sleep(GetParam(), write_and_flush); }

// ---- deregistration

/// Whether the memory stays its owner's for a while.
bool stays_own(std::uint8_t* memory) {
  std::memset(memory, kOwn, Side::kBytes);
  for (int look = 0; look < 4; ++look) {
    pass(std::chrono::microseconds(5));
    if (!holds_only(memory, kOwn)) return false;
  }
  return true;
}

/// Puts other memory to the place of what was there. At once: between munmap() and mmap() another
/// thread may get the place.
bool map_anew(std::uint8_t* memory) {
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
  return mmap(memory, Side::kBytes, PROT_READ | PROT_WRITE, kFlags, -1, 0) == static_cast<void*>(memory);
}

/// One round: lets the peer write as soon as that is ready for it, takes the region away, with `unmapping`
/// its memory too, and looks whether what is there changes afterwards.
int take_region_away(const Side::Memory& buffers, const Line& line, std::mt19937& dice, bool unmapping) {
  Side side(buffers);
  Card peer;
  if (!meet(side, line, peer)) return fail(refused, "a connection");
  if (!line.hear()) return fail(no_peer, "a word before");
  std::uint8_t* const memory = memory_of(side);
  pass(std::chrono::nanoseconds(dice() % 200'000));
  if (ibv_dereg_mr(side.mr) != 0) return fail(refused, "a deregistration");
  side.mr = nullptr;
  if (unmapping && !map_anew(memory)) return fail(refused, "other memory");
  if (!stays_own(memory)) return fail(wrong_bytes, "memory that is its owner's");
  if (!line.hear()) return fail(no_peer, "a word");
  return side.close() ? done : fail(refused, "an end");
}

/// With `way`, the round begins once a WRITE has gone that way.
int write_until_refused(const Side::Memory& buffers, const Line& line, std::mt19937& dice, const Way* way) {
  Side side(buffers);
  Card peer;
  if (!meet(side, line, peer)) return fail(refused, "a connection");
  std::memset(memory_of(side), kWritten, Side::kBytes);
  if (way != nullptr && !(write_until_it_goes(*way, side, peer) && write_once(side, peer, Side::kBytes)))
    return not_as_expected;
  if (!line.tell()) return fail(no_peer, "a peer");
  for (ibv_wc wc{}; wc.status == IBV_WC_SUCCESS;) {
    const bool whole = dice() % 4 != 0;
    if (!post_write(side, peer, whole ? Side::kBytes : 1 + static_cast<std::uint32_t>(dice() % Side::kBytes)))
      return fail(refused, "a post");
    if (!side.next(wc)) return fail(not_as_expected, "a completion");
    if (wc.status != IBV_WC_SUCCESS && wc.status != IBV_WC_REM_ACCESS_ERR)
      return fail(not_as_expected, "a success or a remote access error", wc);
  }
  if (!line.tell()) return fail(no_peer, "a peer");
  return side.close() ? done : fail(refused, "an end");
}

/// `round` again and again, with a lane and buffers that stay. So many messages must have gone without
/// packets, and as the way says.
template <typename Round>
int repeat(const Way& way, const Line& line, unsigned count, unsigned seed, unsigned direct, Round round) {
  const Side::Memory buffers = way.memory();
  Side keeper(buffers);
  if (!keeper.open()) return fail(refused, "a device");
  std::mt19937 dice(seed);
  for (unsigned i = 0; i < count; ++i)
    if (const int failed = round(buffers, line, dice)) return failed;
  const std::uint64_t mapped = counted(ib::Counter::direct_mapped_bytes);
  const std::uint64_t least = way.mapped && direct != 0 ? std::uint64_t{direct} * Side::kBytes / 2 : 0;
  if (counted(ib::Counter::direct_messages) < direct || mapped < least || (!way.mapped && mapped != 0))
    return fail(not_as_expected, "WRITEs that went the way that they should");
  return keeper.close() ? done : fail(refused, "an end");
}

/// Rounds of take_region_away() and write_until_refused().
void play_rounds(const Way& way, unsigned count, bool unmapping) {
  const int seconds = 60 + static_cast<int>(count / 50);
  Lines lines;
  const pid_t target = start_child([&] {
    return repeat(way, Line(lines.a.get()), count, 1, 0, [&](const Side::Memory& kept, auto&... more) {
      return take_region_away(unmapping ? way.memory() : kept, more..., unmapping);
    });
  });
  // Every other round meets new memory before it is mapped.
  const pid_t writer = start_child([&, even = false]() mutable {
    return repeat(way, Line(lines.b.get()), count, 2, count, [&](auto&... all) {
      even = !even;
      return write_until_refused(all..., even ? &way : nullptr);
    });
  });
  EXPECT_EQ(end_of(writer, seconds), done);
  EXPECT_EQ(end_of(target, seconds), done);
}

TEST_P(DirectTest, NothingIsWrittenAfterDeregistration) { play_rounds(GetParam(), rounds(500), false); }

TEST_P(DirectTest, NothingIsWrittenToWhatIsMappedThereNext) { play_rounds(GetParam(), rounds(200), true); }

INSTANTIATE_TEST_SUITE_P(Ways, DirectTest, testing::ValuesIn(kWays), name_of);

}  // namespace
}  // namespace softrnic::robust
