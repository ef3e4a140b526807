// The connection manager's simulator: with arguments of its own a tool (see tool.h), else the GoogleTest
// program.
#include "tests/sim/cm/world.h"
#include "tests/sim/tool.h"

namespace softrnic::sim::cm_world {
namespace {

int run(const ToolOptions& options) {
  const Mutant mutant = options.mutation.empty()
                            ? Mutant::none
                            : by_name<Mutant>(options.mutation, static_cast<int>(std::size(kMutants)) + 1,
                                              [](Mutant m) { return name_of(m); });
  std::uint64_t datagrams = 0, connections = 0, injected = 0;
  const auto one = [&](std::uint64_t seed) {
    const Outcome outcome = run_seed(seed, mutant);
    datagrams += outcome.tally.datagrams;
    connections += outcome.tally.established;
    injected += outcome.tally.injected;
    return SeedReport{outcome.failure, outcome.trace, {}};
  };
  return run_tool(options, one, [&] {
    return std::to_string(connections) + " connections, " + std::to_string(datagrams) + " datagrams, " +
           std::to_string(injected) + " of attackers";
  });
}

}  // namespace
}  // namespace softrnic::sim::cm_world

int main(int argc, char** argv) {
  const auto options = softrnic::sim::parse_tool_options(argc, argv);
  return options.asked ? softrnic::sim::cm_world::run(options) : softrnic::sim::run_tests(argc, argv);
}
