// Sockets, devices and the way to other hosts.
#include <cerrno>

#include "daemon/netdev_choice.h"
#include "doctor/judges.h"
#include "doctor/words.h"

namespace softrnic::doctor {
namespace {

constexpr std::uint32_t kLongestMtu = 4096, kShortestMtu = 256;

Finding judge_buffer(std::uint64_t got, std::uint64_t wanted, const std::optional<std::uint64_t>& most,
                     const char* variable, const char* because) {
  if (got == 0) return not_checked("", "no socket of the daemon's was seen", "see softrnicd");
  // the kernel tells twice of what was asked for, as it counts what surrounds the bytes too
  std::string seen = fmt::format("{} of {}", bytes_text(got / 2), bytes_text(wanted));
  if (most) seen += fmt::format(" (net.core.{} {})", variable, bytes_text(*most));
  if (got / 2 >= wanted) return good(seen);
  return slow(seen, because,
              fmt::format("as root: sysctl -w net.core.{}={} in the first network namespace, then "
                          "`softrnic daemon --stop`",
                          variable, wanted));
}

}  // namespace

Finding judge_receive_buffer(const Facts& facts) {
  const NetworkFacts& network = facts.network;
  return judge_buffer(network.receive_buffer, network.receive_wanted, network.rmem_max, "rmem_max",
                      "bursts from fast peers overflow it: packets are lost and sent again (UC and UD: less "
                      "at a time)");
}

Finding judge_send_buffer(const Facts& facts) {
  const NetworkFacts& network = facts.network;
  return judge_buffer(network.send_buffer, network.send_wanted, network.wmem_max, "wmem_max",
                      "a lane hands fewer packets to a slow netdev at a time");
}

Finding judge_offload(const Facts& facts) {
  const NetworkFacts& network = facts.network;
  const auto word = [](int error) { return error == 0 ? std::string("yes") : error_text(error); };
  const std::string seen =
      fmt::format("UDP_SEGMENT {}, UDP_GRO {}", word(network.segment_error), word(network.gro_error));
  if (network.segment_error == 0 && network.gro_error == 0) return good(seen);
  return slow(seen, "each packet takes a way of its own through the kernel",
              "Linux 5.0 or newer; gVisor and other user-space networks do not have it");
}

// Totals since the namespace was made, of all programs: whether they are bad news only their growth tells.
Finding judge_kernel_drops(const Facts& facts) {
  std::vector<std::string> seen, causes;
  for (std::size_t i = 0; i < kKernelDrops.size(); ++i) {
    if (facts.network.drops[i] == 0) continue;
    seen.push_back(fmt::format("{} {}", kKernelDrops[i].counter, facts.network.drops[i]));
    causes.push_back(fmt::format("{}: {}", kKernelDrops[i].counter, kKernelDrops[i].cause));
  }
  if (seen.empty()) return good("nothing");
  return not_checked(joined(seen), "counted for all programs, since this network namespace was made",
                     "if a peer is silent, look again: what has grown says why. " + joined(causes));
}

Finding judge_outside(const Facts&) {
  return not_checked("firewalls and MTU on the way", "only a peer can tell",
                     "there `softrnic serve FOLDER`, here `softrnic ping HOST`; open UDP port 4791 on both");
}

Finding judge_link(const DeviceFacts& device) {
  const device::DeviceInfo& info = device.info;
  std::size_t gids = 0;
  for (const device::GidEntry& entry : info.port.gids) gids += entry.gid.is_zero() ? 0 : 1;
  std::string seen = fmt::format("netdev {} {}, {} GIDs", info.netdev, info.port.up ? "up" : "down", gids);
  if (info.port.speed_mbps != 0) seen += fmt::format(", {} Mbit/s", info.port.speed_mbps);
  if (!info.port.up)
    return broken(seen, "no packet leaves", "ip link set " + info.netdev + " up, and look at its carrier");
  if (gids == 0)
    return broken(seen, "without an address nobody can reach it",
                  "ip address add ADDRESS dev " + info.netdev);
  return good(seen);
}

Finding judge_mtu(const DeviceFacts& device) {
  const device::PortInfo& port = device.info.port;
  const std::string seen =
      fmt::format("MTU {} of {}: path MTU {}", port.netdev_mtu, device.info.netdev, port.active_mtu);
  const std::uint32_t enough = daemon::netdev_mtu_for(kLongestMtu);
  if (port.active_mtu >= kLongestMtu) return good(seen);
  const std::string cure = fmt::format(
      "ip link set {} mtu {} (or more), there and on the whole way; or connect "
      "with path MTU {} at most",
      device.info.netdev, enough, port.active_mtu);
  if (port.netdev_mtu < daemon::netdev_mtu_for(kShortestMtu))
    return broken(seen, "not even packets of 256 bytes fit", cure);
  return slow(seen,
              fmt::format("{} times as many packets as with path MTU 4096, which some programs insist on",
                          kLongestMtu / port.active_mtu),
              cure);
}

Finding judge_own_address(const DeviceFacts& device) {
  if (!device.tried || device.addresses.empty())
    return not_checked("", "no lane to receive with, or no address", "see softrnicd and link");
  std::vector<std::string> arrived, lost;
  for (const AddressFacts& one : device.addresses)
    (one.error == 0 ? arrived : lost)
        .push_back(one.address + (one.error == 0           ? " in " + time_text(one.us)
                                  : one.error == ETIMEDOUT ? " lost"
                                                           : " " + error_text(one.error)));
  if (lost.empty()) return good("UDP 4791 arrives: " + joined(arrived));
  return broken(
      joined(lost),
      "datagrams to UDP port 4791 of this host's own address do not arrive: a firewall, or lo is down",
      "ip link set lo up; as root: nft insert rule inet filter input udp dport 4791 accept (iptables -I "
      "INPUT -p udp "
      "--dport 4791 -j ACCEPT), and the same for output");
}

}  // namespace softrnic::doctor
