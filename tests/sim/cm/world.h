// Several connection managers on a network that loses, repeats and delays datagrams, each with a program above it that
// connects, accepts, rejects, disconnects, destroys and dies by chance. A seed gives the same run everywhere.
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
};
inline constexpr Mutant kMutants[] = {Mutant::answers_rep_once, Mutant::answers_dreq_once,
                                      Mutant::tells_twice, Mutant::leaks, Mutant::forgets_requests};
constexpr const char* name_of(Mutant mutant) {
  constexpr const char* kNames[] = {"none",  "answers_rep_once", "answers_dreq_once", "tells_twice",
                                    "leaks", "forgets_requests"};
  return kNames[static_cast<std::size_t>(mutant)];
}

/// How much happened, so that a test can tell that something did.
struct Tally {
  std::uint64_t established = 0, rejected = 0, unreachable = 0, disconnected = 0, resolved = 0, killed = 0,
                crashed = 0, datagrams = 0;
};

struct Outcome {
  std::string failure;  ///< empty: every promise was kept
  std::string trace;    ///< the last datagrams and events before the failure
  Tally tally;
};

class World {
 public:
  World(std::uint64_t seed, Mutant mutant);
  Outcome run();

  // For the nodes.
  Rng& rng() { return rng_; }
  TimePoint now() const { return now_; }
  Tally& tally() { return tally_; }
  bool has_crashes() const { return crashes_; }
  std::size_t node_count() const { return nodes_.size(); }
  Mutant mutant_of(std::size_t node) const { return node == 0 ? mutant_ : Mutant::none; }
  void post(std::size_t from, const mad::Address& to, Bytes mad);
  void after(Duration delay, std::function<void()> action);
  /// The first failure counts.
  void fail(const std::string& what);
  /// Whether the active side of an attempt has called confirm().
  bool is_confirmed(std::uint64_t token) const;
  void trace(std::size_t node, const std::string& line);
  Duration some_time(int at_most_us) {
    return std::chrono::microseconds(rng_.range(0, static_cast<std::uint64_t>(at_most_us)));
  }

 private:
  void plan();
  /// Until nothing is under way and no manager has a deadline.
  void run_to_quiet();
  void check_agreement();
  void check_end();

  Rng rng_;
  Mutant mutant_;
  double loss_, repetition_;
  bool crashes_;
  TimePoint now_{};
  std::multimap<TimePoint, std::function<void()>> agenda_;
  std::vector<std::unique_ptr<Node>> nodes_;
  Tally tally_;
  std::string failure_;
  std::deque<std::string> trace_;
};

Outcome run_seed(std::uint64_t seed, Mutant mutant = Mutant::none);

}  // namespace softrnic::sim::cm_world
