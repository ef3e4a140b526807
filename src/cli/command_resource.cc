#include <arpa/inet.h>
#include <infiniband/ib.h>
#include <netinet/in.h>

#include <cstring>
#include <map>

#include "cli/commands.h"
#include "cli/copy_progress.h"
#include "cli/output.h"
#include "cli/processes.h"
#include "control/cm_messages.h"

namespace softrnic::cli {
namespace {

int show_qps(bool json) {
  Processes all;
  if (!read_processes(all)) return kFailed;
  Json rows = Json::array();
  for (const Process& process : all.processes) {
    if (!process.alive()) continue;
    for (const control::QpView& qp : process.qps) {
      const auto name = all.device_names.find(qp.body.device);
      const std::string device = name == all.device_names.end() ? "?" : name->second;
      if (json) {
        rows.push_back({{"ifname", device},
                        {"port", 1},
                        {"lqpn", qp.body.qpn},
                        {"rqpn", qp.body.peer_qpn},
                        {"type", qp_type_name(qp.body.type)},
                        {"state", qp_state_name(qp.body.state)},
                        {"sq-psn", qp.send_psn},
                        {"rq-psn", qp.receive_psn},
                        {"path-mtu", qp.body.path_mtu},
                        {"path", path_text(qp.body).name},
                        {"path-reason", path_text(qp.body).why},
                        {"pid", process.pid},
                        {"comm", process.comm}});
      } else {
        print_line("link {}/1 lqpn {} rqpn {} type {} state {} sq-psn {} rq-psn {} path {} pid {} comm {}",
                   strong(device), qp.body.qpn, qp.body.peer_qpn, qp_type_name(qp.body.type),
                   qp_state_name(qp.body.state), qp.send_psn, qp.receive_psn, path_text(qp.body).name,
                   process.pid, printable(process.comm));
      }
    }
  }
  if (json) print_json(rows);
  return kDone;
}

/// "10.0.0.1:7174", as rdma(8) prints addresses; of AF_IB the port is the end of the service ID. "-": none.
std::string address_text(const sockaddr_storage& address) {
  char text[INET6_ADDRSTRLEN] = "?";
  const auto print = [&text](int family, const void* host, std::uint64_t port) {
    inet_ntop(family, host, text, sizeof text);
    return fmt::format("{}:{}", text, port & 0xffff);
  };
  sockaddr_in in4;
  sockaddr_in6 in6;
  sockaddr_ib ib;
  switch (address.ss_family) {
    case AF_INET:
      std::memcpy(&in4, &address, sizeof in4);
      return print(AF_INET, &in4.sin_addr, ntohs(in4.sin_port));
    case AF_INET6:
      std::memcpy(&in6, &address, sizeof in6);
      return print(AF_INET6, &in6.sin6_addr, ntohs(in6.sin6_port));
    case AF_IB:
      std::memcpy(&ib, &address, sizeof ib);
      return print(AF_INET6, &ib.sib_addr, __builtin_bswap64(ib.sib_sid));
    default:
      return "-";
  }
}

const char* port_space_name(unsigned space) {
  switch (space) {  // enum rdma_port_space
    case 0x0106:
      return "TCP";
    case 0x0111:
      return "UDP";
    case 0x013f:
      return "IB";
    default:
      return "?";
  }
}

std::string shown(std::span<const char> text) {
  return printable(std::string(control::text_in(text).value_or("?")));
}

Json cm_id_row(const control::CmIdListing& id) {
  Json row;
  const std::string device = shown(id.device);
  if (!device.empty()) row.update({{"ifname", device}, {"port", id.record.port}});
  row.update({{"cm-idn", id.key},
              {"lqpn", id.local_qpn},
              {"rqpn", id.remote_qpn},
              {"qp-type", qp_type_name(id.qp_type)},
              {"state", shown(id.state)},
              {"ps", port_space_name(id.port_space)},
              {"pid", id.pid},
              {"comm", shown(id.comm)},
              {"src-addr", address_text(id.record.source)},
              {"dst-addr", address_text(id.record.destination)}});
  return row;
}

int show_cm_ids(bool json) {
  bool failed = false;
  const auto client = connect_daemon(false, failed);
  if (failed) return kFailed;
  Json rows = Json::array();
  if (client) {
    const auto ids = client->cm_ids();
    if (!ids) return report(ids.error());
    for (const control::CmIdListing& id : *ids) rows.push_back(cm_id_row(id));
  }
  if (json) {
    print_json(rows);
    return kDone;
  }
  for (const Json& row : rows.elements()) {
    const Json* const device = row.find("ifname");
    std::string line =
        device != nullptr ? fmt::format("link {}/{}", strong(device->string()), row.find("port")->to_string())
                          : std::string("link -/-");
    for (const auto& [key, value] : row.members())
      if (key != "ifname" && key != "port")
        line += fmt::format(" {} {}", key, value.is_string() ? printable(value.string()) : value.to_string());
    print_line("{}", line);
  }
  return kDone;
}

int show_summary(bool json) {
  Processes all;
  if (!read_processes(all)) return kFailed;
  bool failed = false;
  const auto client = connect_daemon(false, failed);
  if (failed) return kFailed;
  std::map<std::string, std::size_t> qps, cm_ids;
  for (const Process& process : all.processes)
    if (process.alive())
      for (const control::QpView& qp : process.qps)
        if (const auto name = all.device_names.find(qp.body.device); name != all.device_names.end())
          ++qps[name->second];
  if (client) {
    const auto ids = client->cm_ids();
    if (!ids) return report(ids.error());
    for (const control::CmIdListing& id : *ids)
      ++cm_ids[std::string(control::text_in(id.device).value_or(""))];
  }
  Json rows = Json::array();
  for (const auto& [index, name] : all.device_names) {
    rows.push_back({{"ifindex", index}, {"ifname", name}, {"qp", qps[name]}, {"cm_id", cm_ids[name]}});
    if (!json) print_line("{}: {}: qp {} cm_id {}", index, strong(name), qps[name], cm_ids[name]);
  }
  if (json) print_json(rows);
  return kDone;
}

}  // namespace

namespace {

std::string words_of_paths() {
  std::string out =
      "The path of a queue pair says how its WRITEs, READs and atomics go to a peer on this host: direct "
      "(without\npackets), ring (packets through shared memory), wire (packets by UDP), and why they go not "
      "more directly:\n";
  for (const PathText& text : path_texts()) out += fmt::format("{}: {}.\n", text.name, text.why);
  out += fmt::format("{}: {}.\n", xrc_path_text().name, xrc_path_text().why);
  out.pop_back();
  return out;
}

}  // namespace

void add_resource(const grammar::Command& softrnic, Context& context) {
  const grammar::Command command = softrnic.command("resource", "Show what processes hold");
  command.alias("res");
  command.takes_commands(0, 1);
  command.footer(
      "Examples:\n  softrnic resource\n  softrnic resource show qp\n  softrnic resource show qp --json\n  "
      "softrnic resource show cm_id\n" +
      words_of_paths());
  // of the callbacks of a command and its subcommands the innermost comes last, and what it chooses counts
  const auto summary = [&context] { context.chosen = [&context] { return show_summary(context.json); }; };
  command.when_parsed(summary);
  const grammar::Command show =
      command.command("show", "Show the objects of a kind, or how many there are of each");
  show.takes_commands(0, 1);
  show.command("qp", "Queue pairs").finally([&context] {
    context.chosen = [&context] { return show_qps(context.json); };
  });
  show.command("cm_id", "Communication ids: listeners and connections of rdma_cm").finally([&context] {
    context.chosen = [&context] { return show_cm_ids(context.json); };
  });
}

}  // namespace softrnic::cli
