// Every outcome of every check, by facts that no host need have.
#include "doctor/checks.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <functional>
#include <map>
#include <set>

#include "base/reason_id.h"

namespace softrnic::doctor {
namespace {

LoadFacts load(bool ours) {
  LoadFacts out;
  out.asked = true;
  for (const std::string_view name : kLibraries)
    out.libraries.push_back({std::string(name), "/lib/" + std::string(name), false});
  for (std::size_t i = 0; i < kOwnLibraries; ++i) out.libraries[i].ours = ours;
  return out;
}

/// A host with nothing in the way.
Facts healthy() {
  Facts facts;
  facts.program.library_folder = "/opt/lib/softrnic";
  facts.program.by_run = load(true);
  facts.program.plain = load(false);
  HostFacts& host = facts.host;
  host.kernel = "6.1.0";
  host.kernel_major = 6, host.kernel_minor = 1;
  host.libc = "2.36";
  host.libc_major = 2, host.libc_minor = 36;
  host.crc = "PCLMULQDQ";
  host.clock_ns = 25;
  host.processors = host.processors_here = 4;
  host.descriptors_soft = 1024, host.descriptors_hard = 4096;
  host.threads_wanted = 3, host.threads_limit = 1000;
  host.address_space_limit = host.memlock_limit = kUnlimited;
  SameHostFacts& here = facts.same_host;
  here.calls = {{"rseq", "x", 0}, {"memfd_create", "y", 0}};
  here.attach_tried = here.descriptor_attached = here.proc_memory = true;
  here.yama = 0;
  here.rseq = here.proc = here.mapping_seen = here.dev_shm = true;
  facts.daemon.reachable = facts.daemon.started = facts.daemon.may_attach = true;
  facts.daemon.pid = 7;
  facts.daemon.answer_us = 12'000;
  NetworkFacts& network = facts.network;
  network.receive_wanted = network.send_wanted = 4096;
  network.receive_buffer = network.send_buffer = 8192;
  DeviceFacts device;
  device.info.name = "soft0";
  device.info.netdev = "eth0";
  device.info.port.up = true;
  device.info.port.netdev_mtu = 9000;
  device.info.port.active_mtu = 4096;
  device.info.port.gids.resize(1);
  device.info.port.gids[0].gid.raw[15] = std::byte{1};
  device.tried = true;
  device.addresses = {{"10.0.0.1", 0, 20}};
  facts.devices = {device};
  return facts;
}

struct Case {
  std::string id;
  Outcome outcome;
  std::function<void(Facts&)> change;
  std::string said = "";  ///< somewhere in what was seen, why, or the cure
};
using F = Facts;
constexpr Outcome kGood = Outcome::good, kSlow = Outcome::slow, kBroken = Outcome::broken,
                  kNot = Outcome::not_checked;

const std::vector<Case>& cases_of_host() {
  static const std::vector<Case> kCases = {
      {"kernel", kSlow, [](F& f) { f.host.kernel_major = 5, f.host.kernel_minor = 4; }, "pidfd_getfd"},
      {"kernel", kSlow, [](F& f) { f.host.kernel_major = 4, f.host.kernel_minor = 15; }, "UDP_SEGMENT"},
      {"kernel", kBroken, [](F& f) { f.host.kernel_major = 3, f.host.kernel_minor = 10; }, "REUSEPORT"},
      {"kernel", kGood, [](F& f) { f.host.kernel_major = 5, f.host.kernel_minor = 6; }},
      {"glibc", kSlow, [](F& f) { f.host.libc_minor = 34; }, "restartable"},
      {"glibc", kBroken, [](F& f) { f.host.libc_minor = 31; }, "2.34"},
      {"crc", kSlow, [](F& f) { f.host.crc.clear(); }, "tables"},
      {"clock", kSlow, [](F& f) { f.host.clock_ns = 900, f.host.clock_source = "hpet"; },
       "900 ns a look, clock source hpet"},
      {"processors", kSlow, [](F& f) { f.host.processors = 1; }, "1 of 4"},
      {"processors", kSlow, [](F& f) { f.host.quota = 0.5; }, "time of 0.5"},
      {"processors", kGood, [](F& f) { f.host.quota = 3; }},
      {"descriptors", kSlow, [](F& f) { f.host.descriptors_soft = 100; }, "limit 100"},
      {"descriptors", kBroken, [](F& f) { f.host.descriptors_soft = f.host.descriptors_hard = 40; },
       "hard 40"},
      {"threads", kBroken, [](F& f) { f.host.threads_error = EAGAIN; }, "EAGAIN"},
      {"address-space", kBroken,
       [](F& f) { f.host.address_space_limit = 1 << 20, f.host.address_space_error = ENOMEM; },
       "limit 1 MiB"},
      {"memlock", kGood, [](F& f) { f.host.memlock_limit = 0; }, "0 bytes; not needed"},
      {"libraries", kBroken, [](F& f) { f.program.library_folder.clear(); }, "not installed"},
      {"libraries", kBroken, [](F& f) { f.program.by_run.libraries[1].ours = false; },
       "/lib: librdmacm.so.1"},
      {"libraries", kBroken, [](F& f) { f.program.by_run.missing = {"libfoo.so.2"}; }, "libfoo.so.2"},
      {"libraries", kNot, [](F& f) { f.program.by_run.asked = false; }},
      {"libraries", kNot, [](F& f) { f.program.kind = ProgramKind::not_elf; }, "script"},
      {"libraries", kBroken, [](F& f) { f.program.kind = ProgramKind::privileged; }, "set-user-ID"},
      {"libraries", kBroken, [](F& f) { f.program.kind = ProgramKind::without_loader; }, "statically"},
      {"libraries", kBroken, [](F& f) { f.program.kind = ProgramKind::other_libc; }, "glibc"},
      {"libraries", kNot, [](F& f) { f.program.kind = ProgramKind::other_loader; }, "loader"},
      {"libraries", kBroken, [](F& f) { f.program.kind = ProgramKind::other_machine; }, "processor"},
      {"libraries", kBroken, [](F& f) { f.program.kind = ProgramKind::not_found; }, "no such program"},
      {"libraries-plain", kGood, [](F& f) { f.program.plain = load(true); },
       "softrnic's: libibverbs.so.1, librdmacm.so.1;"},
      {"libraries-plain", kBroken, [](F& f) { f.program.plain.libraries[0].ours = true; }, "belong together"},
      {"libraries-plain", kBroken, [](F& f) { f.program.folder_in_path = true; }, "found before"},
      {"libraries-plain", kNot, [](F& f) { f.program.plain.asked = false; }},
      {"settings", kBroken, [](F& f) { f.program.setting_warnings = {"unknown SOFTRNIC_X"}; }, "SOFTRNIC_X"},
      {"settings", kBroken, [](F& f) { f.program.faults = "drop", f.program.faults_trouble = "no ="; },
       "no device opens: no ="},
      {"settings", kBroken, [](F& f) { f.program.device = "soft9"; }, "soft9"},
      {"settings", kGood, [](F& f) { f.program.device = "soft0"; }},
      {"settings", kSlow, [](F& f) { f.program.wire_only = true; }, "SOFTRNIC_PATH=wire"},
      {"settings", kSlow, [](F& f) { f.program.capture = true; }, "SOFTRNIC_CAPTURE"},
      {"settings", kSlow, [](F& f) { f.program.faults = "drop=1%"; }, "drop=1%"},
      {"preload", kGood, [](F& f) { f.program.own_preload = "/lib/softrnic/x.so"; }, "softrnic's: /lib"},
      {"preload", kSlow, [](F& f) { f.program.preload = "libvma.so"; }, "libvma.so"}};
  return kCases;
}

const std::vector<Case>& cases_of_same_host() {
  static const std::vector<Case> kCases = {
      {"seccomp", kGood, [](F& f) { f.same_host.filtered = true; }, "a filter; 2 system calls"},
      {"seccomp", kSlow, [](F& f) { f.same_host.filtered = true, f.same_host.calls[1].error = EPERM; },
       "refuses memfd_create: y"},
      {"seccomp", kSlow, [](F& f) { f.same_host.calls[0].error = ENOSYS; }, "the kernel does not have rseq"},
      {"seccomp", kBroken, [](F& f) { f.same_host.calls[0].error = kKilled; }, "ends programs"},
      {"attach", kSlow, [](F& f) { f.same_host.memory_error = EPERM; }, "packets through shared memory"},
      {"attach", kSlow, [](F& f) { f.same_host.descriptor_error = EPERM; }, "UDP packets"},
      {"attach", kSlow, [](F& f) { f.same_host.descriptor_error = EPERM, f.same_host.yama = 1; }, "see Yama"},
      {"attach", kSlow, [](F& f) { f.same_host.dumpable = false; }, "dumpable"},
      {"attach", kSlow, [](F& f) { f.same_host.proc_memory = false; }, "/proc/PID/mem"},
      {"attach", kNot, [](F& f) { f.same_host.attach_tried = false; }},
      {"yama", kSlow, [](F& f) { f.same_host.yama = 1, f.same_host.descriptor_error = EPERM; },
       "ptrace_scope=0"},
      {"yama", kGood, [](F& f) { f.same_host.yama = 1; }, "CAP_SYS_PTRACE"},
      {"yama", kGood, [](F& f) { f.same_host.yama.reset(); }, "not in this kernel"},
      {"rseq", kSlow, [](F& f) { f.same_host.rseq = false; }, "glibc 2.35"},
      {"rseq", kSlow, [](F& f) { f.same_host.rseq = false, f.same_host.calls[0].error = EPERM; },
       "see seccomp"},
      {"memfd", kSlow, [](F& f) { f.same_host.memfd_error = EFBIG; }, "ulimit -f"},
      {"memfd", kSlow, [](F& f) { f.same_host.memfd_error = f.same_host.calls[1].error = EPERM; },
       "see seccomp"},
      {"proc", kSlow, [](F& f) { f.same_host.proc = false; }, "mount -t proc"},
      {"proc", kSlow, [](F& f) { f.same_host.mapping_seen = false; }, "mappings"},
      {"proc", kSlow, [](F& f) { f.same_host.proc_hidepid = "ptraceable", f.same_host.proc_memory = false; },
       "hidepid=ptraceable"},
      {"proc", kGood, [](F& f) { f.same_host.proc_hidepid = "2"; }, "hidepid=2"},
      {"files", kGood, [](F& f) { f.same_host.root_read_only = true, f.same_host.dev_shm = false; },
       "root read-only, /dev/shm not writable; not needed"}};
  return kCases;
}

const std::vector<Case>& cases_of_network() {
  static const std::vector<Case> kCases = {
      {"daemon", kBroken,
       [](F& f) { f.daemon.reachable = false, f.daemon.error = "why", f.daemon.cure = "how"; }, "why"},
      {"daemon", kSlow, [](F& f) { f.daemon.answer_us = 3'000'000; }, "3000.0 ms"},
      {"daemon", kSlow, [](F& f) { f.daemon.replaced = true; }, "softrnic daemon --stop"},
      {"daemon", kGood, [](F& f) { f.daemon.pid = 0; }, "of another PID namespace"},
      {"namespaces", kSlow, [](F& f) { f.daemon.other_namespaces = {"PID namespace"}; }, "PID namespace"},
      {"namespaces", kSlow, [](F& f) { f.daemon.may_attach = false; }, "capabilities"},
      {"daemon", kGood, [](F& f) { f.daemon.of_all = true; }, "for all users"},
      {"namespaces", kGood, [](F& f) { f.daemon.of_all = true; }, "without capabilities"},
      {"namespaces", kSlow, [](F& f) { f.daemon.of_all = true, f.daemon.may_attach = false; },
       "capabilities"},
      {"namespaces", kNot, [](F& f) { f.daemon.reachable = false; }},
      {"port", kBroken,
       [](F& f) {
         f.daemon.reachable = false, f.network.port_error = EADDRINUSE,
         f.network.port_holder = "taken by 'nc'";
         f.network.port_cure = "how";
       },
       "EADDRINUSE: Address already in use: taken by 'nc'"},
      {"port", kBroken,
       [](F& f) {
         f.daemon.reachable = false, f.daemon.reason = ReasonId::port_taken_user;
         f.daemon.error = "why", f.daemon.cure = "how";
       },
       "a moment ago"},
      {"port", kGood, [](F& f) { f.daemon.reachable = false; }, "free"},
      {"port", kGood, [](F& f) { f.network.rxe = true; }, "rdma_rxe"},
      {"receive-buffer", kSlow, [](F& f) { f.network.receive_buffer = 4096, f.network.rmem_max = 2048; },
       "2 KiB of 4 KiB (net.core.rmem_max 2 KiB)"},
      {"receive-buffer", kNot, [](F& f) { f.network.receive_buffer = 0; }},
      {"send-buffer", kSlow, [](F& f) { f.network.send_buffer = 4096; }, "net.core.wmem_max=4096"},
      {"offload", kSlow, [](F& f) { f.network.segment_error = ENOPROTOOPT; }, "UDP_SEGMENT ENOPROTOOPT"},
      {"offload", kSlow, [](F& f) { f.network.gro_error = ENOPROTOOPT; }, "UDP_GRO ENOPROTOOPT"},
      {"kernel-drops", kNot,
       [](F& f) { f.network.drops[static_cast<std::size_t>(KernelDrop::udp_buffer)] = 9; },
       "UdpRcvbufErrors 9"},
      {"devices", kBroken, [](F& f) { f.devices.clear(); }, "ip link set lo up"},
      {"devices", kBroken, [](F& f) { f.devices.clear(), f.only_device = "soft9"; }, "no soft9"},
      {"devices", kNot, [](F& f) { f.daemon.reachable = false; }},
      {"outside", kNot, [](F&) {}, "softrnic ping HOST"},
      {"link", kBroken, [](F& f) { f.devices[0].info.port.up = false; }, "eth0 down"},
      {"link", kBroken, [](F& f) { f.devices[0].info.port.gids.clear(); }, "0 GIDs"},
      {"mtu", kSlow,
       [](F& f) { f.devices[0].info.port.netdev_mtu = 1500, f.devices[0].info.port.active_mtu = 1024; },
       "mtu 4192"},
      {"mtu", kBroken,
       [](F& f) { f.devices[0].info.port.netdev_mtu = 300, f.devices[0].info.port.active_mtu = 256; },
       "MTU 300 of eth0"},
      {"own-address", kBroken, [](F& f) { f.devices[0].addresses[0].error = ETIMEDOUT; }, "10.0.0.1 lost"},
      {"own-address", kBroken, [](F& f) { f.devices[0].addresses[0].error = EPERM; }, "10.0.0.1 EPERM"},
      {"own-address", kNot, [](F& f) { f.devices[0].tried = false; }}};
  return kCases;
}

std::vector<Case> all_cases() {
  std::vector<Case> all = cases_of_host();
  for (const auto* more : {&cases_of_same_host(), &cases_of_network()})
    all.insert(all.end(), more->begin(), more->end());
  return all;
}

std::optional<Finding> find(const std::vector<Result>& results, const std::string& id) {
  for (const Result& result : results)
    if (result.id == id) return result.finding;
  return std::nullopt;
}

TEST(Checks, FindNothingOnAHealthyHost) {
  const auto results = examine(healthy());
  for (const Result& result : results)
    if (result.id != "outside") {
      EXPECT_EQ(result.finding.outcome, kGood) << result.id << ": " << result.finding.because;
      EXPECT_NE(result.finding.seen, "") << result.id;
      EXPECT_EQ(result.finding.cure, "") << result.id;
    }
  EXPECT_EQ(worst(results), kGood);
}

TEST(Checks, SayWhatIsInTheWay) {
  for (const Case& one : all_cases()) {
    Facts facts = healthy();
    one.change(facts);
    const auto finding = find(examine(facts), one.id);
    ASSERT_TRUE(finding) << one.id;
    const std::string text = finding->seen + ": " + finding->because + ": " + finding->cure;
    EXPECT_EQ(finding->outcome, one.outcome) << one.id << ": " << text;
    EXPECT_NE(text.find(one.said), std::string::npos) << one.id << ": " << text;
    EXPECT_EQ(finding->cure.empty(), one.outcome == kGood) << one.id;
    EXPECT_EQ(finding->because.empty(), one.outcome == kGood) << one.id;
  }
}

TEST(Checks, EachHasACaseOfEveryOutcomeThatItHas) {
  const std::set<std::string> never_bad = {"memlock", "files"};
  std::set<std::string> bad;
  for (const Case& one : all_cases())
    if (one.outcome != kGood) bad.insert(one.id);
  std::set<std::string> ids;
  for (const Result& result : examine(healthy())) ids.insert(std::string(result.id));
  EXPECT_EQ(ids.size(), checks().size() + device_checks().size()) << "ids are unique";
  for (const std::string& id : ids) EXPECT_EQ(bad.count(id), never_bad.count(id) == 0 ? 1U : 0U) << id;
}

TEST(Checks, OneOfADeviceIsMadeForEach) {
  Facts facts = healthy();
  facts.devices.push_back(facts.devices[0]);
  facts.devices[1].info.name = "soft1";
  facts.devices[1].info.port.up = false;
  std::map<std::string, Outcome> links;
  for (const Result& result : examine(facts))
    if (result.id == "link") links[result.device] = result.finding.outcome;
  EXPECT_EQ(links, (std::map<std::string, Outcome>{{"soft0", kGood}, {"soft1", kBroken}}));
}

TEST(Checks, TheWorstCounts) {
  Facts facts = healthy();
  facts.host.crc.clear();
  EXPECT_EQ(worst(examine(facts)), kSlow);
  facts.devices[0].info.port.up = false;
  EXPECT_EQ(worst(examine(facts)), kBroken);
}

}  // namespace
}  // namespace softrnic::doctor
