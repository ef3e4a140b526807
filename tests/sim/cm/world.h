// Several connection managers on a network that loses, repeats and delays datagrams, each with a
// program above it that connects, accepts, rejects, disconnects, destroys and dies by chance. A seed
// gives the same run everywhere.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/time.h"
#include "mad/mad.h"
#include "tests/sim/cm/attacker.h"
#include "tests/sim/cm/node.h"
#include "tests/sim/rng.h"

namespace softrnic::sim::cm_world {

/// A fault that is put into one node, for the test of the simulation itself.
enum class Mutant : std::uint8_t {
  none,
  answers_rep_once,   ///< a repeated REP gets no RTU
  answers_dreq_once,  ///< a repeated DREQ gets no DREP
  tells_twice,        ///< an event is told twice
  leaks,              ///< some ids are not destroyed
  forgets_requests,   ///< a repeated REQ passes for a new one
  hears_anybody,      ///< a message counts, wherever it comes from
  ends_stale_ones,    ///< a REQ ends an earlier connection of its queue pair, whoever sent it
  amplifies,          ///< a REP is sent as often as its receiver asks for
};
inline constexpr Mutant kMutants[] = {
    Mutant::answers_rep_once, Mutant::answers_dreq_once, Mutant::tells_twice,     Mutant::leaks,
    Mutant::forgets_requests, Mutant::hears_anybody,     Mutant::ends_stale_ones, Mutant::amplifies};
constexpr const char* name_of(Mutant mutant) {
  constexpr const char* kNames[] = {"none",     "answers_rep_once", "answers_dreq_once", "tells_twice",
                                    "leaks",    "forgets_requests", "hears_anybody",     "ends_stale_ones",
                                    "amplifies"};
  return kNames[static_cast<std::size_t>(mutant)];
}

/// How much happened, so that a test can tell that something did.
struct Tally {
  std::uint64_t established = 0, rejected = 0, unreachable = 0, disconnected = 0, resolved = 0, killed = 0,
                crashed = 0, datagrams = 0;
  std::uint64_t attacked = 0;  ///< connections that came about while there was an attacker
  std::uint64_t injected = 0;  ///< datagrams of attackers
};

struct Outcome {
  std::string failure;  ///< empty: every promise was kept
  std::string trace;    ///< the last datagrams and events before the failure
  Tally tally;
};

class World {
 public:
  /// `traces`: keeps the last lines of the trace, which takes most of the time.
  World(std::uint64_t seed, Mutant mutant, bool traces);
  Outcome run();

  // For the nodes.
  Rng& rng() { return rng_; }
  TimePoint now() const { return now_; }
  Tally& tally() { return tally_; }
  bool has_crashes() const { return crashes_; }
  bool loses() const { return loss_ > 0; }
  bool is_attacked() const { return attacker_ != nullptr; }
  std::size_t node_count() const { return nodes_.size(); }
  Mutant mutant_of(std::size_t node) const { return node == 0 ? mutant_ : Mutant::none; }
  void post(std::size_t from, const mad::Address& to, Bytes mad);
  /// The attacker's, as if it came from `source`.
  void inject(const wire::Gid& source, std::size_t to, Bytes mad);
  /// The side of an attempt wherever it is; nullptr: nobody knows of it.
  const Side* find(std::uint64_t token, bool active) const;
  void after(Duration delay, std::function<void()> action);
  /// The first failure counts.
  void fail(const std::string& what);
  /// Whether the active side of an attempt has called confirm().
  bool is_confirmed(std::uint64_t token) const;
  void trace(std::size_t node, const std::function<std::string()>& line);
  Duration some_time(int at_most_us) {
    return std::chrono::microseconds(rng_.range(0, static_cast<std::uint64_t>(at_most_us)));
  }

 private:
  void plan();
  void plan_attack();
  void deliver(std::size_t target, const mad::Address& seen, Bytes mad);
  void leave(std::size_t from, const mad::Address& to, Bytes mad);
  /// Until nothing is under way and no manager has a deadline.
  void run_to_quiet();
  void check_agreement();
  /// Whether the passive side may be without the connection that the active side believes in.
  bool may_not_know(std::uint32_t active, const Side& passive) const;
  void check_end();

  Rng rng_;
  Mutant mutant_;
  bool traces_;
  double loss_, repetition_;
  bool crashes_;
  TimePoint now_{};
  std::multimap<TimePoint, std::function<void()>> agenda_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::unique_ptr<Attacker> attacker_;  ///< or nullptr
  struct Traffic {
    std::uint64_t in = 0, out = 0;  ///< datagrams, as the nodes see it
  };
  std::map<std::uint32_t, int> rtus_;     ///< sent, by the ID of the active side
  std::map<wire::Gid, Traffic> nowhere_;  ///< by address that the attacker made up
  Tally tally_;
  std::string failure_;
  std::deque<std::string> trace_;
};

Outcome run_seed(std::uint64_t seed, Mutant mutant = Mutant::none);

}  // namespace softrnic::sim::cm_world
