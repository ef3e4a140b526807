#include "fabricd/fabric_report.h"

#include <fmt/format.h>

#include <deque>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "mad/link.h"

namespace softrnic::fabricd {
namespace {

using fabric::NodeIndex;
using Json = nlohmann::ordered_json;

std::string hex(std::uint64_t number) { return fmt::format("0x{:016x}", number); }

std::string_view name_of(mad::PortState state) {
  constexpr std::string_view kNames[] = {"", "down", "init", "armed", "active"};
  const auto index = static_cast<std::size_t>(state);
  return index < std::size(kNames) ? kNames[index] : "";
}

std::string_view name_of(mad::PortPhysicalState state) {
  constexpr std::string_view kNames[] = {"",         "sleep",   "polling",        "disabled",
                                         "training", "link up", "error recovery", "phy test"};
  const auto index = static_cast<std::size_t>(state);
  return index < std::size(kNames) ? kNames[index] : "";
}

std::string_view width_of(mad::LinkWidth width) {
  for (const mad::WidthInfo& info : mad::kLinkWidths)
    if (info.width == width) return info.name;
  return "";
}

std::string_view speed_of(const mad::PortInfo& info) {
  const mad::SpeedInfo* const speed = mad::find_speed(info.link_speed_active, info.link_speed_ext_active);
  return speed != nullptr ? speed->name : "";
}

std::string ipv4_text(const wire::Gid& address) {
  const std::byte* const bytes = address.ipv4_bytes();
  return fmt::format("{}.{}.{}.{}", std::to_integer<int>(bytes[0]), std::to_integer<int>(bytes[1]),
                     std::to_integer<int>(bytes[2]), std::to_integer<int>(bytes[3]));
}

Json counters_of(const fabric::PortCounters& counters) {
  return {{"xmit_data", counters.xmit_data},
          {"rcv_data", counters.rcv_data},
          {"xmit_packets", counters.xmit_packets()},
          {"rcv_packets", counters.rcv_packets()},
          {"xmit_wait_ns", counters.xmit_wait.count()},
          {"xmit_discards", counters.xmit_discards()},
          {"symbol_errors", counters.symbol_errors},
          {"rcv_errors", counters.rcv_errors()},
          {"link_downed", counters.link_downed}};
}

class Report {
 public:
  explicit Report(const EmulatedFabric& fabric) : fabric_(fabric) {}

  Json whole() const {
    Json out;
    out["name"] = fabric_.name();
    out["manager"] = manager();
    out["nodes"] = Json::array();
    for (std::uint32_t i = 0; i < fabric_.topology().nodes().size(); ++i)
      out["nodes"].push_back(node(NodeIndex(i)));
    return out;
  }

 private:
  Json manager() const {
    const EmbeddedManager* const manager = fabric_.manager();
    if (manager == nullptr) return {{"kind", "none"}};
    return {{"kind", "embedded"}, {"is_up", manager->manager().is_up()}};
  }

  Json node(NodeIndex index) const {
    const fabric::Node& node = fabric_.topology().node(index);
    Json out;
    out["name"] = node.name;
    out["type"] = fabric::name_of(node.type);
    out["guid"] = hex(node.guid.value);
    out["ports"] = Json::array();
    const fabric::ManagedNode* const managed = fabric_.agents().node(fabric_.wiring().nodes[index.value]);
    for (std::size_t number = 0; managed != nullptr && number < managed->ports.size(); ++number)
      if (managed->port(static_cast<std::uint8_t>(number)) != nullptr)
        out["ports"].push_back(port(index, managed->ports[number]));
    return out;
  }

  Json port(NodeIndex index, const fabric::ManagedPort& port) const {
    const mad::PortInfo& info = port.info;
    Json out;
    out["port"] = port.number;
    out["state"] = name_of(info.port_state);
    out["physical_state"] = name_of(info.port_physical_state);
    if (!port.guids.empty()) {
      out["lid"] = info.lid.value;
      out["lmc"] = info.lmc;
      out["sm_lid"] = info.master_sm_lid.value;
      out["guid"] = hex(port.guids[0].value);
    }
    const EmulatedHost* const host = fabric_.host(index);
    if (host != nullptr && port.number != 0 && port.number <= host->ports().size())
      out["address"] = ipv4_text(host->ports()[port.number - 1U].address);
    if (const auto peer = fabric_.topology().peer({index, port.number})) {
      out["width"] = width_of(info.link_width_active);
      out["speed"] = speed_of(info);
      out["peer"] = {{"node", fabric_.topology().node(peer->node).name}, {"port", peer->port}};
    }
    const FabricCable* const cable = fabric_.cables().find(port.id, fabric_.engine());
    if (cable != nullptr && !cable->peer().empty()) {
      out["width"] = width_of(info.link_width_active);
      out["speed"] = speed_of(info);
      out["peer"] = {{"fabric", cable->peer()}, {"up", cable->is_up()}};
    }
    if (const fabric::EnginePort* const engine = fabric_.engine().port(port.id))
      out["counters"] = counters_of(engine->counters);
    return out;
  }

  const EmulatedFabric& fabric_;
};

/// Of a file that another program writes; none: there is no such file.
std::deque<std::string> last_lines(const std::string& path) {
  std::deque<std::string> lines;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (lines.size() == EmbeddedManager::kLog) lines.pop_front();
    lines.push_back(std::move(line));
  }
  return lines;
}

/// Names in topologies are foreign text, and so is what another program writes: any bytes.
std::string text_of(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

}  // namespace

std::string report(const EmulatedFabric& fabric) { return text_of(Report(fabric).whole()); }

std::string manager_log(const EmulatedFabric& fabric) {
  const std::deque<std::string> lines =
      fabric.manager() != nullptr ? fabric.manager()->log() : last_lines(fabric.log_file());
  return text_of(Json(lines));
}

}  // namespace softrnic::fabricd
