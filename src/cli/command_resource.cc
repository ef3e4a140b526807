#include "cli/commands.h"
#include "cli/output.h"
#include "cli/processes.h"

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
                        {"pid", process.pid},
                        {"comm", process.comm}});
      } else {
        print_line("link {}/1 lqpn {} rqpn {} type {} state {} sq-psn {} rq-psn {} pid {} comm {}",
                   strong(device), qp.body.qpn, qp.body.peer_qpn, qp_type_name(qp.body.type),
                   qp_state_name(qp.body.state), qp.send_psn, qp.receive_psn, process.pid, process.comm);
      }
    }
  }
  if (json) print_json(rows);
  return kDone;
}

}  // namespace

void add_resource(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand("resource", "Show what processes hold");
  command->alias("res");
  command->require_subcommand(1);
  command->footer("Examples:\n  softrnic resource show qp\n  softrnic resource show qp --json");
  CLI::App* show = command->add_subcommand("show", "Show objects of a kind");
  show->require_subcommand(1);
  show->add_subcommand("qp", "Queue pairs")->callback([&context] {
    context.chosen = [&context] { return show_qps(context.json); };
  });
}

}  // namespace softrnic::cli
