#include "tests/sim/tool.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <cstring>

namespace softrnic::sim {

ToolOptions parse_tool_options(int argc, char** argv) {
  ToolOptions o;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    const char* value = i + 1 < argc ? argv[i + 1] : "";
    char* rest = nullptr;
    if (option == "--seed" || option == "--seeds") {
      o.asked = true;
      o.first = o.last = std::strtoull(value, &rest, 0);
      if (std::strncmp(rest, "..", 2) == 0) o.last = std::strtoull(rest + 2, nullptr, 0);
    }
    if (option == "--mutation") o.mutation = value;
    if (option == "--trace") o.trace = std::strtoull(value, nullptr, 0);
    o.describe |= option == "--describe";
    o.keep_going |= option == "--keep-going";
  }
  return o;
}

namespace {

// Every seed builds a world and drops it. To give its memory back to the kernel and to fetch it again takes
// as long as the simulation.
void keep_memory() {
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TOP_PAD, 16 << 20);
}

}  // namespace

int run_tool(const ToolOptions& options, const std::function<SeedReport(std::uint64_t seed)>& run_seed,
             const std::function<std::string()>& totals) {
  keep_memory();
  int failures = 0;
  for (std::uint64_t seed = options.first; seed <= options.last; ++seed) {
    const SeedReport report = run_seed(seed);
    if (options.describe) std::printf("%s", report.description.c_str());
    if (report.failure.empty()) continue;
    ++failures;
    if (options.single() || !options.keep_going)
      std::printf("%s%s", report.trace.c_str(), report.description.c_str());
    std::printf("seed %llu FAILED: %s\n", static_cast<unsigned long long>(seed), report.failure.c_str());
    std::fflush(stdout);
    if (!options.keep_going) break;
  }
  std::printf("seeds %llu..%llu: %d failed; %s\n", static_cast<unsigned long long>(options.first),
              static_cast<unsigned long long>(options.last), failures, totals().c_str());
  return failures == 0 ? 0 : 1;
}

int run_tests(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}

}  // namespace softrnic::sim
