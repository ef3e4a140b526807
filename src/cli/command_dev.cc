// dev and link: the devices, their ports and netdevs, in the vocabulary of iproute2's rdma.
#include <string>

#include "cli/commands.h"
#include "cli/link_options.h"
#include "cli/output.h"

namespace softrnic::cli {
namespace {

using device::DeviceInfo;

const char* node_type_of(const DeviceInfo& device) {
  return device::info_of(device.kind).node == IBV_NODE_RNIC ? "rnic" : "ca";
}

Json gids_json(const DeviceInfo& device) {
  const char* const type =
      device::gids_are_addresses(device.kind) ? "RoCE v2" : "IB/RoCE v1";  // as the kernel
  Json gids = Json::array();
  for (std::size_t i = 0; i < device.port.gids.size(); ++i)
    if (!device.port.gids[i].gid.is_zero())
      gids.push_back({{"index", i}, {"gid", device.port.gids[i].gid.to_string()}, {"type", type}});
  return gids;
}

Json dev_json(const DeviceInfo& d) {
  return {{"ifindex", d.index},
          {"ifname", d.name},
          {"node_type", node_type_of(d)},
          {"node_guid", guid_text(d.guid)},
          {"netdev", d.netdev}};
}

Json link_json(const DeviceInfo& d) {
  return {{"ifindex", d.index},
          {"ifname", d.name},
          {"port", 1},
          {"state", d.port.up ? "ACTIVE" : "DOWN"},
          {"physical_state", d.port.up ? "LINK_UP" : "DISABLED"},
          {"type", device::info_of(d.kind).link_type},
          {"crc", d.mpa.crc},
          {"markers", d.mpa.markers},
          {"netdev", d.netdev},
          {"netdev_index", d.interface_index},
          {"netdev_mtu", d.port.netdev_mtu},
          {"active_mtu", d.port.active_mtu},
          {"speed_mbps", d.port.speed_mbps},
          {"gids", gids_json(d)}};
}

void print_dev(const DeviceInfo& d) {
  print_line("{}: {}: node_type {} node_guid {} netdev {}", d.index, strong(d.name), node_type_of(d),
             guid_text(d.guid), printable(d.netdev));
}

void print_link(const DeviceInfo& d) {
  print_line("link {}/1 state {} physical_state {} type {} netdev {} netdev_mtu {} active_mtu {}",
             strong(d.name), d.port.up ? "ACTIVE" : "DOWN", d.port.up ? "LINK_UP" : "DISABLED",
             device::info_of(d.kind).link_type, printable(d.netdev), d.port.netdev_mtu, d.port.active_mtu);
  if (d.mpa != wire::MpaDemands{})
    print_line("    asks peers for{}{}", d.mpa.crc ? " crc" : "", d.mpa.markers ? " markers" : "");
  for (std::size_t i = 0; i < d.port.gids.size(); ++i)
    if (!d.port.gids[i].gid.is_zero()) print_line("    gid {} {}", i, d.port.gids[i].gid.to_string());
}

int show(const std::string& only, bool json, Json (*to_json)(const DeviceInfo&),
         void (*print)(const DeviceInfo&)) {
  bool failed = false;
  const auto client = connect_daemon(true, failed);
  if (!client) return kFailed;
  const auto devices = client->devices();
  if (!devices) return report(devices.error());
  const std::string name = only.substr(0, only.find('/'));  // "soft0/1" names a port
  Json rows = Json::array();
  bool found = false;
  for (const DeviceInfo& device : *devices) {
    if (!name.empty() && device.name != name) continue;
    found = true;
    if (json) {
      rows.push_back(to_json(device));
    } else {
      print(device);
    }
  }
  if (json) print_json(rows);
  if (name.empty() || found) return kDone;
  complain(fmt::format("there is no device {}", name));
  return kFailed;
}

int change_link(const device::NewDevice& device, bool add) {
  bool failed = false;
  const auto client = connect_daemon(true, failed);
  if (!client) return kFailed;
  const auto done = add ? client->add_link(device) : client->delete_link(device.name);
  return done ? kDone : report(done.error());
}

void add_show(const grammar::Command& command, Context& context, Json (*to_json)(const DeviceInfo&),
              void (*print)(const DeviceInfo&)) {
  auto name = std::make_shared<std::string>();
  const auto choose = [&context, name, to_json, print] {
    if (!context.chosen)
      context.chosen = [&context, name, to_json, print] { return show(*name, context.json, to_json, print); };
  };
  const grammar::Command word = command.command("show", "Show all, or the one named");
  word.option("NAME", *name, "soft0");
  word.finally(choose);
  command.finally(choose);
  command.takes_commands(0, 1);
}

}  // namespace

void add_dev(const grammar::Command& softrnic, Context& context) {
  const grammar::Command command = softrnic.command("dev", "Show the devices");
  command.footer("Examples:\n  softrnic dev\n  softrnic dev show soft0 --json");
  add_show(command, context, dev_json, print_dev);
}

void add_link(const grammar::Command& softrnic, Context& context) {
  const grammar::Command command =
      softrnic.command("link", "Show ports and their GIDs; add and delete devices");
  command.footer(
      "Examples:\n  softrnic link\n  softrnic link add soft1 netdev eth1\n"
      "  softrnic link add iw0 type iwarp netdev eth0\n"
      "  softrnic link add iw1 type iwarp crc on netdev eth0\n  softrnic link delete soft1");
  const grammar::Command add = command.command("add", std::string("Add a device: ") + kLinkWords);
  auto words = std::make_shared<std::vector<std::string>>();
  add.option("WORDS", *words, kLinkWords).required();
  add.finally([&context, words] {
    context.chosen = [words] {
      device::NewDevice device;
      const std::string trouble = parse_link(*words, device);
      if (trouble.empty()) return change_link(device, true);
      complain(trouble);
      return static_cast<int>(kUsage);
    };
  });
  const grammar::Command remove = command.command("delete", "Delete a device");
  auto options = std::make_shared<device::NewDevice>();
  remove.option("NAME", options->name, "soft1").required();
  remove.finally(
      [&context, options] { context.chosen = [options] { return change_link(*options, false); }; });
  add_show(command, context, link_json, print_link);
}

}  // namespace softrnic::cli
