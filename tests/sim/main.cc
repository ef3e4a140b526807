// The transport's simulator: with arguments of its own a tool (see tool.h), else the GoogleTest program.
#include <algorithm>

#include "tests/sim/tool.h"
#include "tests/sim/world.h"

namespace softrnic::sim {
namespace {

int run(const ToolOptions& options) {
  const Mutation mutation = options.mutation.empty()
                                ? Mutation::none
                                : by_name<Mutation>(options.mutation, static_cast<int>(Mutation::count_),
                                                    [](Mutation m) { return name(m); });
  std::uint64_t work = 0, packets = 0, attack_packets = 0;
  const auto one = [&](std::uint64_t seed) {
    const Result result = run_seed(seed, mutation, std::max<std::size_t>(options.trace, 1));
    work += result.work;
    packets += result.packets;
    attack_packets += result.attack_packets;
    return SeedReport{result.failure, result.trace, Config::from_seed(seed).describe()};
  };
  return run_tool(options, one, [&] {
    return std::to_string(work) + " work requests, " + std::to_string(packets) + " packets, " +
           std::to_string(attack_packets) + " packets of attackers";
  });
}

}  // namespace
}  // namespace softrnic::sim

int main(int argc, char** argv) {
  const auto options = softrnic::sim::parse_tool_options(argc, argv);
  return options.asked ? softrnic::sim::run(options) : softrnic::sim::run_tests(argc, argv);
}
