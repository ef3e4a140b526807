// Kernel, C library and processor.
#include "doctor/judges.h"
#include "doctor/words.h"

namespace softrnic::doctor {
namespace {

/// A version that something needs.
struct Need {
  unsigned major, minor;
  Outcome without;
  const char* because;
};
// ascending
constexpr Need kKernelNeeds[] = {
    {4, 5, Outcome::broken, "it hands no packet to the lane that it is for (SO_ATTACH_REUSEPORT_CBPF, 4.5)"},
    {4, 18, Outcome::slow, "each packet takes a way of its own through the kernel (UDP_SEGMENT is of 4.18)"},
    {5, 1, Outcome::slow, "programs share no memory (F_SEAL_FUTURE_WRITE is of 5.1)"},
    {5, 6, Outcome::slow, "descriptors of peers are taken by /proc alone (pidfd_getfd is of 5.6)"},
};
constexpr Need kLibcNeeds[] = {
    {2, 34, Outcome::broken, "softrnic's libraries do not load (symbols of GLIBC_2.34)"},
    {2, 35, Outcome::slow, "it registers no restartable sequences, which 2.35 does"},
};

template <std::size_t n>
Finding judge_version(const Need (&needs)[n], unsigned major, unsigned minor, const std::string& seen,
                      const char* cure) {
  for (const Need& need : needs)
    if (std::pair(major, minor) < std::pair(need.major, need.minor))
      return {need.without, seen, need.because, cure};
  return good(fmt::format("{} (needed: {}.{}, all is there from {}.{} on)", seen, needs[0].major,
                          needs[0].minor, needs[n - 1].major, needs[n - 1].minor));
}

constexpr std::uint64_t kSlowClockNs = 250;

}  // namespace

Finding judge_kernel(const Facts& facts) {
  const HostFacts& host = facts.host;
  return judge_version(kKernelNeeds, host.kernel_major, host.kernel_minor, "Linux " + host.kernel,
                       "run a newer kernel");
}

Finding judge_libc(const Facts& facts) {
  const HostFacts& host = facts.host;
  return judge_version(kLibcNeeds, host.libc_major, host.libc_minor, "glibc " + host.libc,
                       "run a newer distribution");
}

Finding judge_crc(const Facts& facts) {
  if (!facts.host.crc.empty()) return good("ICRC by " + facts.host.crc);
  return slow(
      "no instructions for carry-less multiplication",
      "the ICRC of every packet is computed by tables, some ten times slower",
      "a virtual machine: pass PCLMULQDQ and SSE4.1 (arm64: PMULL) on to it; packets of the same host "
      "have no ICRC");
}

Finding judge_clock(const Facts& facts) {
  const HostFacts& host = facts.host;
  const std::string seen =
      fmt::format("{} ns a look{}", host.clock_ns,
                  host.clock_source.empty() ? "" : ", clock source " + host.clock_source);
  if (host.clock_ns <= kSlowClockNs) return good(seen);
  return slow(
      seen, "every batch of packets looks at the clock, here by a system call",
      "clock source tsc (`cat /sys/devices/system/clocksource/clocksource0/available_clocksource`), or "
      "kvm-clock in a virtual machine");
}

Finding judge_processors(const Facts& facts) {
  const HostFacts& host = facts.host;
  std::string seen = fmt::format("{} of {}", host.processors, host.processors_here);
  if (host.quota > 0) seen += fmt::format(", the cgroup gives the time of {:.2g}", host.quota);
  if (host.processors < 2)
    return slow(seen, "two programs that poll, and engine threads, take turns on one processor",
                "more processors (taskset -p, cpuset of the container); programs that wait for events");
  if (host.quota > 0 && host.quota < 2)
    return slow(seen, "programs that poll use up their time and are then stopped for a while",
                "raise cpu.max of the cgroup (docker --cpus, resources.limits.cpu)");
  return good(seen);
}

}  // namespace softrnic::doctor
