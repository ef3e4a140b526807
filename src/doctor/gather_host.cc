#include <gnu/libc-version.h>
#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <sstream>

#include "base/clock.h"
#include "doctor/gather.h"
#include "doctor/small_files.h"
#include "wire/crc32_fold.h"

namespace softrnic::doctor {
namespace {

/// The shortest of some rounds: the thread may be off the processor in others.
std::uint64_t time_of_clock() {
  constexpr int kRounds = 5, kLooks = 500;
  Duration best = std::chrono::seconds(1);
  for (int round = 0; round < kRounds; ++round) {
    const TimePoint before = monotonic_now();
    TimePoint after = before;
    for (int look = 0; look < kLooks; ++look) after = monotonic_now();
    best = std::min<Duration>(best, after - before);
  }
  return static_cast<std::uint64_t>(best.count()) / kLooks;
}

std::string fold_name() {
  for (const wire::NamedFold& fold : wire::all_folds())
    if (fold.works()) return fold.name;
  return {};
}

/// The least of the cgroups that this process is in, from its own to the root.
double cgroup_quota() {
  std::istringstream groups(text_of("/proc/self/cgroup"));
  double least = 0;
  for (std::string line; std::getline(groups, line);) {
    if (!line.starts_with("0::")) continue;
    for (std::string path = line.substr(3); !path.empty(); path.resize(path.rfind('/'))) {
      const double quota = parse_cpu_max(text_of("/sys/fs/cgroup" + path + "/cpu.max"));
      if (quota > 0 && (least == 0 || quota < least)) least = quota;
      if (path == "/") break;
    }
  }
  const auto quota = number_in("/sys/fs/cgroup/cpu/cpu.cfs_quota_us");  // version 1
  const auto period = number_in("/sys/fs/cgroup/cpu/cpu.cfs_period_us");
  if (quota && period && *period != 0) return static_cast<double>(*quota) / static_cast<double>(*period);
  return least;
}

std::uint32_t allowed_processors() {
  constexpr int kMost = 8192;
  cpu_set_t* const set = CPU_ALLOC(kMost);
  const std::size_t size = CPU_ALLOC_SIZE(kMost);
  const int count = set != nullptr && sched_getaffinity(0, size, set) == 0 ? CPU_COUNT_S(size, set) : 0;
  CPU_FREE(set);
  return static_cast<std::uint32_t>(count);
}

}  // namespace

double parse_cpu_max(const std::string& text) {
  double quota = 0, period = 0;
  if (std::sscanf(text.c_str(), "%lf %lf", &quota, &period) != 2 || period <= 0) return 0;
  return quota / period;
}

HostFacts gather_host() {
  HostFacts host;
  utsname system{};
  uname(&system);
  host.kernel = system.release;
  std::sscanf(system.release, "%u.%u", &host.kernel_major, &host.kernel_minor);
  host.libc = gnu_get_libc_version();
  std::sscanf(host.libc.c_str(), "%u.%u", &host.libc_major, &host.libc_minor);
  host.crc = fold_name();
  host.clock_ns = time_of_clock();
  host.clock_source = first_line_of("/sys/devices/system/clocksource/clocksource0/current_clocksource");
  host.processors = allowed_processors();
  host.processors_here = static_cast<std::uint32_t>(sysconf(_SC_NPROCESSORS_ONLN));
  host.quota = cgroup_quota();
  gather_limits(host);
  return host;
}

}  // namespace softrnic::doctor
