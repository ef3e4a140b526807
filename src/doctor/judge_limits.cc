// Limits of the process (setrlimit(2)).
#include "doctor/judges.h"
#include "doctor/words.h"

namespace softrnic::doctor {
namespace {

constexpr std::uint64_t kDaemonDescriptors = 64;  ///< control::launch_daemon() wants so many
constexpr std::uint64_t kFewDescriptors = 256;    ///< an open device takes a dozen, each channel one

}  // namespace

Finding judge_descriptors(const Facts& facts) {
  const std::uint64_t soft = facts.host.descriptors_soft, hard = facts.host.descriptors_hard;
  const std::string seen = fmt::format("limit {} (hard {})", limit_text(soft), limit_text(hard));
  if (hard < kDaemonDescriptors)
    return broken(seen, fmt::format("softrnicd is not started with fewer than {}", kDaemonDescriptors),
                  "ulimit -Hn, limits.conf(5), LimitNOFILE= or docker --ulimit nofile=");
  if (soft < kFewDescriptors)
    return slow(seen, "programs with many channels, connections or peers are refused them (EMFILE)",
                "ulimit -n 1024 or more");
  return good(seen);
}

Finding judge_threads(const Facts& facts) {
  const HostFacts& host = facts.host;
  const std::string seen =
      fmt::format("{} at a time started, limit {}", host.threads_wanted, limit_text(host.threads_limit));
  if (host.threads_error == 0) return good(seen);
  return broken(fmt::format("limit {}: {}", limit_text(host.threads_limit), error_text(host.threads_error)),
                fmt::format("an open device needs {} threads", host.threads_wanted),
                "ulimit -u, or pids.max of the cgroup (docker --pids-limit)");
}

Finding judge_address_space(const Facts& facts) {
  const HostFacts& host = facts.host;
  const std::string seen = "limit " + bytes_text(host.address_space_limit);
  if (host.address_space_error == 0) return good(seen);
  return broken(seen,
                fmt::format("an open device takes {} of address space (most of it never touched): {}",
                            bytes_text(host.address_space_wanted), error_text(host.address_space_error)),
                "ulimit -v unlimited, and limit memory by a cgroup instead");
}

Finding judge_memlock(const Facts& facts) {
  return good("limit " + bytes_text(facts.host.memlock_limit) +
              "; not needed: registering memory locks and pins nothing");
}

}  // namespace softrnic::doctor
