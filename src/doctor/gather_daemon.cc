#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <optional>

#include "base/clock.h"
#include "control/client.h"
#include "control/local_name.h"
#include "daemon/credentials.h"
#include "daemon/lane_socket.h"
#include "daemon/port_holder.h"
#include "doctor/gather.h"
#include "doctor/own_datagram.h"

namespace softrnic::doctor {
namespace {

std::uint64_t us_since(TimePoint then) {
  return static_cast<std::uint64_t>((monotonic_now() - then).count()) / 1000;
}

/// What a failure says ends with its cure (control::make_error()).
std::string without_cure(std::string text, const std::string& cure) {
  const std::string end = ": " + cure;
  if (const std::size_t at = text.find(end); !cure.empty() && at != std::string::npos)
    text.erase(at, end.size());
  return text;
}

/// As a program that opens a device does it.
std::unique_ptr<control::Client> connect(DaemonFacts& daemon) {
  control::ConnectOptions options;
  options.spawn = false;
  TimePoint begin = monotonic_now();
  auto client = control::Client::connect(options);
  if (!client && client.error().failure.reason.figures[0] == ECONNREFUSED) {
    options.spawn = daemon.started = true;
    begin = monotonic_now();
    client = control::Client::connect(options);
  }
  daemon.answer_us = us_since(begin);
  if (client) return std::move(*client);
  daemon.reason = client.error().failure.reason.id;
  daemon.cure = reason_text(daemon.reason).cure;
  daemon.error = without_cure(client.error().text, daemon.cure);
  return nullptr;
}

std::string link_of(pid_t pid, const char* entry) {
  std::array<char, PATH_MAX> target{};
  const std::string path = "/proc/" + std::to_string(pid) + "/" + entry;
  return readlink(path.c_str(), target.data(), target.size() - 1) > 0 ? target.data() : "";
}

void gather_program_of(DaemonFacts& daemon) {
  constexpr std::string_view kGone = " (deleted)";
  daemon.program = link_of(daemon.pid, "exe");
  daemon.replaced = daemon.program.ends_with(kGone);
  if (daemon.replaced) daemon.program.resize(daemon.program.size() - kGone.size());
}

/// Of the daemon of all users, whose socket is root's.
void gather_process_of_all(const control::Client& client, const control::StatusReply& status,
                           DaemonFacts& daemon) {
  daemon.of_all = true;
  daemon.pid = client.daemon_pid();
  daemon.uid = status.user;
  daemon.may_attach = !daemon::Credentials::own().has_capabilities();
}

/// By a connection of its own, since a process number means something only as the kernel tells it here.
void gather_process(DaemonFacts& daemon) {
  const auto socket = control::reach_own(control::daemon_name(geteuid()), control::kAnswerTimeout);
  const auto peer = socket ? control::peer_credentials(socket->get()) : std::nullopt;
  if (!peer) return;
  daemon.pid = peer->pid;
  daemon.uid = peer->uid;
  const UniqueFd process = daemon::peer_process(socket->get(), peer->pid);
  const auto its = daemon::Credentials::of(peer->uid, peer->pid, process);
  daemon.may_attach = daemon::Credentials::own().may_attach_to_each_other(its);
  if (daemon.pid <= 0) {
    daemon.other_namespaces.emplace_back("PID namespace");
    return;
  }
  gather_program_of(daemon);
  for (const auto& [entry, name] :
       {std::pair("ns/user", "user namespace"), std::pair("ns/pid", "PID namespace")}) {
    const std::string theirs = link_of(daemon.pid, entry), own = link_of(getpid(), entry);
    if (!theirs.empty() && !own.empty() && theirs != own) daemon.other_namespaces.emplace_back(name);
  }
}

void gather_status(control::Client& client, Facts& facts) {
  const auto status = client.status();
  if (!status) return;
  if (status->all_users != 0) {
    gather_process_of_all(client, *status, facts.daemon);
  } else {
    gather_process(facts.daemon);
  }
  facts.daemon.protocol = control::kProtocolVersion;
  facts.daemon.clients = status->clients - 1;  // not this one
  facts.daemon.lanes = status->lanes_used;
  facts.daemon.idle_seconds = status->idle_seconds;
  facts.network.receive_buffer = status->receive_buffer;
}

void gather_devices(control::Client& client, const std::string& only, Facts& facts) {
  const auto devices = client.devices();
  if (!devices) return;
  const auto lane = client.take_lane();
  for (const device::DeviceInfo& info : *devices) {
    if (!only.empty() && info.name != only) continue;
    facts.devices.push_back({info, lane.has_value(), {}});
    for (const device::GidEntry& entry : info.port.gids)
      if (lane && !entry.gid.is_zero() && device::gids_are_addresses(info.kind))
        facts.devices.back().addresses.push_back(send_to_own_address(*lane, entry));
  }
  if (lane) static_cast<void>(client.give_back_lane(lane->number));
}

/// Without a daemon nobody of ours has the port.
void gather_port(NetworkFacts& network) {
  const auto probe = daemon::open_lane_socket(false);
  if (probe) return;
  network.port_error = probe.error();
  const Reason reason = daemon::who_holds_the_port();
  network.port_holder = describe(reason);
  network.port_cure = reason_text(reason.id).cure;
}

}  // namespace

void gather_daemon(const Wanted& wanted, Facts& facts) {
  facts.network.receive_wanted = daemon::kReceiveBuffer;
  facts.network.rxe = access("/sys/module/rdma_rxe", F_OK) == 0;
  const auto client = connect(facts.daemon);
  facts.daemon.reachable = client != nullptr;
  if (client == nullptr) return gather_port(facts.network);
  gather_devices(*client, wanted.device, facts);
  gather_status(*client, facts);
}

Facts gather(const Wanted& wanted) {
  Facts facts;
  facts.only_device = wanted.device;
  facts.program = gather_program(wanted);
  facts.host = gather_host();
  facts.same_host = gather_same_host();
  gather_sockets(facts.network);
  gather_daemon(wanted, facts);
  return facts;
}

}  // namespace softrnic::doctor
