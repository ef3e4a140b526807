// A local peer that rewrites every byte of shared memory that it can write, in every state: whom it is
// connected to neither crashes nor hangs, and goes on with others.
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <random>
#include <span>
#include <vector>

#include "direct_ways.h"

namespace softrnic::robust {
namespace {

using Clock = std::chrono::steady_clock;
using Dice = std::mt19937_64;
using Words = std::span<std::uint64_t>;

constexpr auto kAttack = std::chrono::milliseconds(1500);
constexpr auto kLong = std::chrono::seconds(20);  ///< only a verb that waits for the attacker takes so long
constexpr std::uint32_t kMessages = 20;           ///< in a round with the third process
constexpr std::uint8_t kTimeout = 12;             ///< 17 ms to the first retry

// ---- what is written

void write_all(Words words, std::uint64_t value) {
  for (std::uint64_t& word : words) __atomic_store_n(&word, value, __ATOMIC_RELAXED);
}
void zeros(Words words, Dice&) { write_all(words, 0); }
void ones(Words words, Dice&) { write_all(words, ~std::uint64_t{0}); }
void noise(Words words, Dice& dice) {
  for (std::uint64_t& word : words) __atomic_store_n(&word, dice(), __ATOMIC_RELAXED);
}
/// Good values that change to others and back, for readers that look twice.
void flips(Words words, Dice& dice) {
  const std::uint64_t bit = std::uint64_t{1} << dice() % 64;
  for (std::uint64_t& word : words) __atomic_xor_fetch(&word, bit, __ATOMIC_RELAXED);
}

/// What of a process the attacker is doing meanwhile.
enum class State : std::uint8_t { idle, writes, stopped, dead };

struct Attack {
  const char* name;
  void (*write)(Words words, Dice& dice);
  State state;
};

/// The memory that this process shares with others and can write.
std::vector<Words> shared_and_writable() {
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::vector<Words> all;
  const std::unique_ptr<std::FILE, Close> maps(std::fopen("/proc/self/maps", "re"));
  for (char line[512]; maps != nullptr && std::fgets(line, sizeof line, maps.get()) != nullptr;) {
    unsigned long begin = 0, end = 0;
    char rights[8] = {};
    if (std::sscanf(line, "%lx-%lx %7s", &begin, &end, rights) == 3 && std::strcmp(rights, "rw-s") == 0 &&
        std::strstr(line, "/memfd:softrnic-") != nullptr)
      all.emplace_back(reinterpret_cast<std::uint64_t*>(begin), (end - begin) / sizeof(std::uint64_t));
  }
  return all;
}

/// Rewrites until the time is over; most often where the locks and flags are.
int rewrite(const std::vector<Words>& places, const Attack& attack) {
  constexpr std::size_t kHead = 8192;
  Dice dice(5);
  for (const auto end = Clock::now() + kAttack; Clock::now() < end;) {
    for (int i = 0; i < 200; ++i)
      for (const Words place : places) attack.write(place.first(std::min(place.size(), kHead)), dice);
    for (const Words place : places) attack.write(place, dice);
  }
  return done;
}

/// A process that has the same memory and no adapter, so that it does not harm itself.
pid_t start_rewriting(const Attack& attack) {
  const auto places = shared_and_writable();
  for (const Words place : places) madvise(place.data(), place.size_bytes(), MADV_DOFORK);
  return places.empty() ? -1 : start_child([&] { return rewrite(places, attack); });
}

int attack_the_victim(const Attack& attack, const Line& line) {
  Side side(Side::own_memory());
  Card peer;
  if (!meet(side, line, peer, kTimeout)) return fail(refused, "a connection");
  if (!write_until_it_goes(kWays[0], side, peer)) return not_as_expected;
  if (!line.tell() || !line.hear()) return fail(no_peer, "a victim");
  if (start_rewriting(attack) < 0) return fail(not_as_expected, "memory to rewrite");
  if (!line.tell()) return fail(no_peer, "a victim");
  ibv_wc wc{};
  if (attack.state == State::stopped) raise(SIGSTOP);
  if (attack.state == State::dead) raise(SIGKILL);
  while (attack.state == State::writes && post_write(side, peer, Side::kBytes) && side.next(wc, 1)) continue;
  pause();
  return done;
}

// ---- the victim

/// Verbs that withdraw something, each within bounded time.
bool register_and_withdraw(Side& side) {
  const auto begin = Clock::now();
  Couple others;
  constexpr int kAccess = IBV_ACCESS_LOCAL_WRITE;
  ibv_mr* const region = ibv_reg_mr(side.pd, memory_of(side), Side::kBytes, kAccess);
  if (region == nullptr || ibv_dereg_mr(region) != 0) return fail(refused, "a region") == done;
  if (!others.open() || !others.close()) return fail(refused, "other queue pairs") == done;
  return Clock::now() - begin < kLong || fail(not_as_expected, "verbs that take no time") == done;
}

/// Acts on the attacker's memory as long as that goes.
void act(Side& side, const Card& peer, bool& goes) {
  ibv_wc wc{};
  for (int i = 0; goes && i < 20; ++i)
    goes = post_write(side, peer, i % 2 == 0 ? 8 : 4096) && side.next(wc) && wc.status == IBV_WC_SUCCESS;
}

int withstand(const Line& attacker, const Line& third) {
  Side to_attacker(Side::own_memory()), to_third;
  Card peer, other;
  if (!meet(to_attacker, attacker, peer, kTimeout) || !meet(to_third, third, other))
    return fail(refused, "a connection");
  if (!write_until_it_goes(kWays[0], to_attacker, peer)) return not_as_expected;
  if (!attacker.tell() || !attacker.hear() || !attacker.hear()) return fail(no_peer, "an attacker");
  bool goes = true, more = true;
  for (const auto end = Clock::now() + kAttack; more;) {
    act(to_attacker, peer, goes);
    more = Clock::now() < end;
    if (!third.tell(more)) return fail(no_peer, "a third process");
    if (exchange(to_third, kMessages, 1, 2) != 0) return fail(not_as_expected, "messages of others");
    if (!register_and_withdraw(to_third)) return not_as_expected;
  }
  const auto begin = Clock::now();
  if (!to_attacker.close() || !to_third.close()) return fail(refused, "an end");
  return Clock::now() - begin < kLong ? done : fail(not_as_expected, "an end that takes no time");
}

int go_on(const Line& victim) {
  Side side;
  Card peer;
  if (!meet(side, victim, peer)) return fail(refused, "a connection");
  for (bool more = true; more;) {
    if (!victim.hear(more)) return fail(no_peer, "a victim");
    if (exchange(side, kMessages, 2, 1) != 0) return fail(not_as_expected, "messages");
  }
  return side.close() ? done : fail(refused, "an end");
}

class HostileLocalPeer : public testing::TestWithParam<Attack> {};

TEST_P(HostileLocalPeer, DoesNoHarmToWhomItIsConnectedTo) {
  Lines to_attacker, to_third;
  const pid_t attacker =
      start_child([&] { return attack_the_victim(GetParam(), Line(to_attacker.b.get())); });
  const pid_t third = start_child([&] { return go_on(Line(to_third.b.get())); });
  const pid_t victim =
      start_child([&] { return withstand(Line(to_attacker.a.get()), Line(to_third.a.get())); });
  EXPECT_EQ(end_of(victim, 60), done);
  EXPECT_EQ(end_of(third, 60), done);
  kill(attacker, SIGKILL);
  end_of(attacker);
}

INSTANTIATE_TEST_SUITE_P(All, HostileLocalPeer,
                         testing::Values(Attack{"ZerosWhileIdle", zeros, State::idle},
                                         Attack{"OnesWhileIdle", ones, State::idle},
                                         Attack{"NoiseWhileIdle", noise, State::idle},
                                         Attack{"FlipsWhileIdle", flips, State::idle},
                                         Attack{"OnesWhileItWrites", ones, State::writes},
                                         Attack{"FlipsWhileItWrites", flips, State::writes},
                                         Attack{"NoiseWhileStopped", noise, State::stopped},
                                         Attack{"FlipsWhileStopped", flips, State::stopped},
                                         Attack{"NoiseWhenDead", noise, State::dead},
                                         Attack{"FlipsWhenDead", flips, State::dead}),
                         [](const auto& tested) { return std::string(tested.param.name); });

}  // namespace
}  // namespace softrnic::robust
