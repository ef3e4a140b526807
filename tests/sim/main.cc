// Without arguments of its own: the GoogleTest program. With them: the simulator as a tool.
//   --seed N            one seed, with its trace
//   --seeds A..B        many seeds, quietly; stops at the first failure unless --keep-going
//   --mutation NAME     plants a bug
//   --trace N           the last N events
//   --describe          prints the configuration of the seed
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "tests/sim/world.h"

namespace softrnic::sim {
namespace {

struct Options {
  bool tool = false;
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  Mutation mutation = Mutation::none;
  std::size_t trace = 200;
  bool describe = false;
  bool keep_going = false;
};

Mutation mutation_of(const char* text) {
  for (int i = 0; i < static_cast<int>(Mutation::count_); ++i)
    if (std::strcmp(name(static_cast<Mutation>(i)), text) == 0) return static_cast<Mutation>(i);
  std::fprintf(stderr, "no mutation is called %s\n", text);
  std::exit(2);
}

Options parse(int argc, char** argv) {
  Options o;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    const char* value = i + 1 < argc ? argv[i + 1] : "";
    char* rest = nullptr;
    if (option == "--seed" || option == "--seeds") {
      o.tool = true;
      o.first = o.last = std::strtoull(value, &rest, 0);
      if (std::strncmp(rest, "..", 2) == 0) o.last = std::strtoull(rest + 2, nullptr, 0);
    }
    if (option == "--mutation") o.mutation = mutation_of(value);
    if (option == "--trace") o.trace = std::strtoull(value, nullptr, 0);
    o.describe |= option == "--describe";
    o.keep_going |= option == "--keep-going";
  }
  return o;
}

int run(const Options& o) {
  int failures = 0;
  std::uint64_t packets = 0;
  std::uint64_t work = 0;
  for (std::uint64_t seed = o.first; seed <= o.last; ++seed) {
    if (o.describe) std::printf("%s", Config::from_seed(seed).describe().c_str());
    const Result result = run_seed(seed, o.mutation, std::max<std::size_t>(o.trace, 1));
    packets += result.packets;
    work += result.work;
    if (result.failure.empty()) continue;
    ++failures;
    if (o.first == o.last || !o.keep_going)
      std::printf("%s%s", result.trace.c_str(), Config::from_seed(seed).describe().c_str());
    std::printf("seed %llu FAILED: %s\n", static_cast<unsigned long long>(seed), result.failure.c_str());
    std::fflush(stdout);
    if (!o.keep_going) break;
  }
  std::printf("seeds %llu..%llu: %d failed; %llu work requests, %llu packets\n",
              static_cast<unsigned long long>(o.first), static_cast<unsigned long long>(o.last), failures,
              static_cast<unsigned long long>(work), static_cast<unsigned long long>(packets));
  return failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace softrnic::sim

int main(int argc, char** argv) {
  const auto options = softrnic::sim::parse(argc, argv);
  if (options.tool) return softrnic::sim::run(options);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
