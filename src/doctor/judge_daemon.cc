// The daemon, its port and its devices.
#include "base/reason_id.h"
#include "doctor/judges.h"
#include "doctor/words.h"

namespace softrnic::doctor {
namespace {

constexpr std::uint64_t kSlowStartUs = 1'000'000;

bool is_about_the_port(ReasonId reason) {
  return reason == ReasonId::port_taken_user || reason == ReasonId::port_taken_kernel ||
         reason == ReasonId::port_taken_unknown;
}

}  // namespace

Finding judge_daemon(const Facts& facts) {
  const DaemonFacts& daemon = facts.daemon;
  if (!daemon.reachable)
    return broken("not reachable", daemon.error, daemon.cure.empty() ? "run `softrnic daemon`" : daemon.cure);
  std::string seen =
      daemon.pid > 0 ? fmt::format("process {}", daemon.pid) : std::string("of another PID namespace");
  if (daemon.of_all) seen = "for all users, " + seen;
  seen += fmt::format(" of user {}, protocol {}, {} in {}, {} clients, {} lanes", daemon.uid, daemon.protocol,
                      daemon.started ? "started by itself" : "answered", time_text(daemon.answer_us),
                      daemon.clients, daemon.lanes);
  if (!daemon.program.empty()) seen += ", " + daemon.program;
  if (daemon.replaced)
    return slow(seen, "its program was replaced since it started: it is the old one",
                "softrnic daemon --stop, when no program runs; the next one starts the new daemon");
  if (daemon.answer_us >= kSlowStartUs)
    return slow(seen, "opening a device takes as long", "look what keeps this host busy");
  return good(seen);
}

Finding judge_namespaces(const Facts& facts) {
  const DaemonFacts& daemon = facts.daemon;
  if (!daemon.reachable) return not_checked("", "no daemon", "see softrnicd");
  if (!daemon.other_namespaces.empty())
    return slow(joined(daemon.other_namespaces) + ": others than the daemon's",
                "programs in different ones may not attach to each other: data goes by UDP packets",
                "run both programs in the same containers, or containers with --pid=host --userns=host");
  if (daemon.of_all && !daemon.may_attach)
    return slow("this process has capabilities",
                "the daemon of all users cannot see what they are good for: data goes by UDP packets",
                "run programs without capabilities, as an ordinary user");
  if (daemon.of_all) return good("a process without capabilities shares memory with others of its user");
  if (!daemon.may_attach)
    return slow("the same as the daemon's, but other capabilities",
                "programs with different ones may not attach to each other: data goes by UDP packets",
                "run all programs as the same user with the same capabilities");
  return good("user, PID and network namespace and capabilities are the daemon's");
}

Finding judge_port(const Facts& facts) {
  const NetworkFacts& network = facts.network;
  const std::string rxe = network.rxe ? "; the kernel's rdma_rxe is loaded, but not on the port" : "";
  if (facts.daemon.reachable) return good("held by softrnicd, for data and connection management" + rxe);
  if (network.port_error == 0) {
    if (is_about_the_port(facts.daemon.reason))
      return broken("taken a moment ago", facts.daemon.error, facts.daemon.cure);
    return good("free" + rxe);
  }
  return broken(error_text(network.port_error), network.port_holder, network.port_cure);
}

Finding judge_devices(const Facts& facts) {
  if (!facts.daemon.reachable) return not_checked("", "no daemon", "see softrnicd");
  std::vector<std::string> names;
  for (const DeviceFacts& device : facts.devices)
    names.push_back(device.info.name + " on " + device.info.netdev);
  if (!names.empty()) return good(joined(names));
  if (!facts.only_device.empty())
    return broken("no " + facts.only_device, "there is no such device", "`softrnic dev` shows all");
  return broken("none", "no network device is up and has an address",
                "ip link set lo up, or `softrnic link add soft0 type roce netdev NETDEV`");
}

}  // namespace softrnic::doctor
