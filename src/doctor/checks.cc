#include "doctor/checks.h"

#include <algorithm>

#include "doctor/judges.h"

namespace softrnic::doctor {
namespace {

constexpr Check kChecks[] = {
    {"libraries", "libraries, by run", judge_libraries},
    {"libraries-plain", "libraries, plain", judge_plain_libraries},
    {"settings", "SOFTRNIC_* settings", judge_settings},
    {"preload", "LD_PRELOAD", judge_preload},
    {"kernel", "kernel", judge_kernel},
    {"glibc", "glibc", judge_libc},
    {"crc", "CRC instructions", judge_crc},
    {"clock", "clock", judge_clock},
    {"processors", "processors", judge_processors},
    {"descriptors", "open files", judge_descriptors},
    {"threads", "threads", judge_threads},
    {"address-space", "address space", judge_address_space},
    {"memlock", "locked memory", judge_memlock},
    {"seccomp", "seccomp", judge_seccomp},
    {"attach", "memory of peers", judge_attach},
    {"yama", "Yama", judge_yama},
    {"rseq", "rseq", judge_rseq},
    {"memfd", "shared memory", judge_memfd},
    {"proc", "/proc", judge_proc},
    {"files", "file systems", judge_files},
    {"daemon", "softrnicd", judge_daemon},
    {"namespaces", "namespaces", judge_namespaces},
    {"port", "UDP port 4791", judge_port},
    {"receive-buffer", "receive buffer", judge_receive_buffer},
    {"send-buffer", "send buffer", judge_send_buffer},
    {"offload", "UDP GSO and GRO", judge_offload},
    {"kernel-drops", "dropped by the kernel", judge_kernel_drops},
    {"devices", "devices", judge_devices},
    {"outside", "other hosts", judge_outside},
};

constexpr DeviceCheck kDeviceChecks[] = {
    {"link", "link", judge_link},
    {"mtu", "MTU", judge_mtu},
    {"own-address", "own addresses", judge_own_address},
};

unsigned severity(Outcome outcome) {
  return outcome == Outcome::broken ? 2 : outcome == Outcome::slow ? 1 : 0;
}

}  // namespace

std::string_view name_of(Outcome outcome) {
  constexpr std::string_view names[] = {"good", "slow", "broken", "not-checked"};
  return names[static_cast<std::size_t>(outcome)];
}

std::span<const Check> checks() { return kChecks; }
std::span<const DeviceCheck> device_checks() { return kDeviceChecks; }

std::vector<Result> examine(const Facts& facts) {
  std::vector<Result> results;
  for (const Check& check : checks()) results.push_back({check.id, check.title, "", check.judge(facts)});
  for (const DeviceFacts& device : facts.devices)
    for (const DeviceCheck& check : device_checks())
      results.push_back({check.id, check.title, device.info.name, check.judge(device)});
  return results;
}

Outcome worst(const std::vector<Result>& results) {
  Outcome found = Outcome::good;
  for (const Result& result : results)
    if (severity(result.finding.outcome) > severity(found)) found = result.finding.outcome;
  return found;
}

}  // namespace softrnic::doctor
