#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "tests/sim/world.h"

namespace softrnic::sim {
namespace {

std::uint64_t seeds_to_run(std::uint64_t otherwise) {
  const char* text = std::getenv("SOFTRNIC_SIM_SEEDS");
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 0);
}

std::string report(std::uint64_t seed, const Result& result) {
  return result.trace + Config::from_seed(seed).describe() + result.failure +
         "\nreplay: scripts/simulate --seed " + std::to_string(seed);
}

TEST(Simulation, HoldsItsPromisesUnderEveryFault) {
#ifdef __SANITIZE_ADDRESS__  // ten times slower, and each seed is a whole conversation
  const std::uint64_t seeds = seeds_to_run(100);
#else
  const std::uint64_t seeds = seeds_to_run(1000);
#endif
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const Result result = run_seed(seed);
    ASSERT_TRUE(result.failure.empty()) << report(seed, result);
  }
}

// Seeds that once failed, among millions, by faults of the transport.
TEST(Simulation, SeedsThatFailedOnce) {
  constexpr std::uint64_t kAtomicBusy = 72'972;  // what is behind a busy atomic, dropped and never asked for
  constexpr std::uint64_t kReadGone = 993'216;   // a repeated READ of a region that is gone, never answered
  constexpr std::uint64_t kOvertaken =
      783'089;  // a large UC packet, always overtaken by small ones of another
  constexpr std::uint64_t kReadGoneThenGap = 1'019'220;  // it is answered, and then a packet is lost
  constexpr std::uint64_t kRarelyReady = 1'214'684;  // a window of packets for each of thousands of RNR NAKs
  for (const std::uint64_t seed : {kAtomicBusy, kReadGone, kOvertaken, kReadGoneThenGap, kRarelyReady}) {
    const Result result = run_seed(seed);
    EXPECT_TRUE(result.failure.empty()) << report(seed, result);
  }
}

TEST(Simulation, IsReproducible) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Result one = run_seed(seed);
    const Result two = run_seed(seed);
    EXPECT_EQ(one.packets, two.packets) << seed;
    EXPECT_EQ(one.ended, two.ended) << seed;
  }
}

/// Every operation and queue pair type occurs, and most runs do some work: a simulator that does nothing
/// finds nothing.
TEST(Simulation, CoversWhatItClaims) {
  std::uint32_t types[5] = {}, operations[ib::kSendOps] = {}, misdeeds[16] = {}, incidents[8] = {};
  std::uint64_t work = 0;
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    for (const PairConfig& pair : Config::from_seed(seed).pairs) {
      for (const int side : {0, 1}) ++types[static_cast<int>(pair.type_of(side))];
      ++misdeeds[static_cast<int>(pair.misdeed)];
      ++incidents[static_cast<int>(pair.incident)];
      for (std::size_t op = 0; op < ib::kSendOps; ++op) operations[op] += pair.op_weights[op] != 0;
    }
    if (seed <= 50) work += run_seed(seed).work;
  }
  for (const std::uint32_t n : types) EXPECT_GE(n, 100U);
  for (const auto op :
       {ib::SendOp::write, ib::SendOp::write_with_imm, ib::SendOp::send, ib::SendOp::send_with_imm,
        ib::SendOp::read, ib::SendOp::compare_swap, ib::SendOp::fetch_add, ib::SendOp::send_with_invalidate,
        ib::SendOp::flush, ib::SendOp::atomic_write})
    EXPECT_GE(operations[static_cast<int>(op)], 50U) << name(op);
  for (int i = 0; i < static_cast<int>(Misdeed::count_); ++i)
    EXPECT_GE(misdeeds[i], 5U) << name(static_cast<Misdeed>(i));
  for (int i = 0; i < static_cast<int>(Incident::count_); ++i)
    EXPECT_GE(incidents[i], 5U) << name(static_cast<Incident>(i));
  EXPECT_GE(work, 2000U);
}

// Payloads that cannot be fetched are sent again although no timer runs.
TEST(Simulation, BearsPayloadsThatAreGoneWithoutATimer) {
  std::uint32_t found = 0;
  for (std::uint64_t seed = 1; found < 30 && seed <= 20'000; ++seed) {
    const Config config = Config::from_seed(seed);
    const bool wanted = config.faults.gone > 0.01 &&
                        std::any_of(config.pairs.begin(), config.pairs.end(),
                                    [](const auto& p) { return p.type == ib::QpType::rc && p.timeout == 0; });
    if (!wanted) continue;
    ++found;
    const Result result = run_seed(seed);
    ASSERT_TRUE(result.failure.empty()) << report(seed, result);
  }
  EXPECT_EQ(found, 30U);
}

TEST(Simulation, CoversPathsThatAreMemory) {
  std::uint32_t memory = 0, rendezvous = 0, gone = 0, changing = 0, faultless = 0;
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    const Config config = Config::from_seed(seed);
    if (config.memory.longest_packet == 0) continue;
    ++memory;
    rendezvous += config.memory.rendezvous_from != 0;
    gone += config.faults.gone > 0;
    changing += config.memory.changes != 0;
    faultless += !config.faults.loses() && config.faults.duplicate == 0 && config.faults.reorder == 0;
  }
  EXPECT_GE(memory, 300U);
  EXPECT_GE(rendezvous, 200U);
  EXPECT_GE(gone, 100U);
  EXPECT_GE(changing, 50U);
  EXPECT_GE(faultless, 50U);
}

TEST(Simulation, CoversPathsThatGoDark) {
  std::uint32_t armed = 0, to_be_armed = 0;
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    for (const PairConfig& pair : Config::from_seed(seed).pairs) {
      armed += pair.alternate && pair.armed;
      to_be_armed += pair.alternate && !pair.armed;
    }
  }
  EXPECT_GE(armed, 50U);
  EXPECT_GE(to_be_armed, 30U);
}

TEST(Simulation, CoversAttackers) {
  std::uint32_t attacked = 0, knowing = 0, with_idle = 0, of_own = 0, stingy = 0;
  std::uint64_t packets = 0;
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    const Config config = Config::from_seed(seed);
    if (config.attack.shots == 0) continue;
    ++attacked;
    knowing += config.attack.knows_qpns;
    with_idle += config.attack.idle_pairs != 0;
    stingy += config.attack.stingy;
    of_own += std::any_of(config.pairs.begin(), config.pairs.end(), [](const auto& p) { return p.hostile; });
    if (seed <= 50) packets += run_seed(seed).attack_packets;
  }
  EXPECT_GE(attacked, 200U);
  for (const std::uint32_t n : {knowing, with_idle, of_own, stingy}) EXPECT_GE(n, 100U);
  EXPECT_GE(packets, 500U);
}

}  // namespace
}  // namespace softrnic::sim
