#include "fabricd/fabric_report.h"

#include <fmt/core.h>

#include <chrono>
#include <deque>
#include <fstream>
#include <string>
#include <utility>

#include "fabricd/embedded_manager.h"
#include "fabricd/emulated_fabric.h"
#include "fabricd/emulated_host.h"
#include "fabricd/link_load.h"
#include "fabricd/port_words.h"
#include "fabricd/vl_report.h"
#include "text/json.h"

namespace softrnic::fabricd {
namespace {

using fabric::NodeIndex;

std::string hex(std::uint64_t number) { return fmt::format("0x{:016x}", number); }

std::string ipv4_text(const wire::Gid& address) {
  const std::byte* const bytes = address.ipv4_bytes();
  return fmt::format("{}.{}.{}.{}", std::to_integer<int>(bytes[0]), std::to_integer<int>(bytes[1]),
                     std::to_integer<int>(bytes[2]), std::to_integer<int>(bytes[3]));
}

Json counters_of(const fabric::EnginePort& port, TimePoint now) {
  const fabric::PortCounters& counters = port.counters;
  return {{"xmit_data", counters.xmit_data},
          {"rcv_data", counters.rcv_data},
          {"xmit_packets", counters.xmit_packets()},
          {"rcv_packets", counters.rcv_packets()},
          {"xmit_wait_ns", (counters.xmit_wait + port.open_wait(now)).count()},
          {"xmit_discards", counters.xmit_discards()},
          {"symbol_errors", counters.symbol_errors},
          {"rcv_errors", counters.rcv_errors()},
          {"link_downed", counters.link_downed}};
}

class Report {
 public:
  Report(const EmulatedFabric& fabric, const ReportWish& wish) : fabric_(fabric), wish_(wish) {}

  Json whole() const {
    Json out;
    out["name"] = fabric_.name();
    out["manager"] = manager();
    out["load_seconds"] = seconds();
    out["nodes"] = Json::array();
    for (std::uint32_t i = 0; i < fabric_.topology().nodes().size(); ++i)
      out["nodes"].push_back(node(NodeIndex(i)));
    return out;
  }

 private:
  Json manager() const {
    const EmbeddedManager* const manager = fabric_.manager();
    if (!fabric_.log_file().empty()) return {{"kind", "opensm"}};
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
    if (Json peer = peer_of({index, port.number}, port.id); !peer.is_null()) {
      out["width"] = width_of(info);
      out["speed"] = speed_of(info);
      out["peer"] = std::move(peer);
    }
    if (const fabric::EnginePort* const engine = fabric_.engine().port(port.id)) {
      if (engine->link != nullptr) add_link(*engine, info, out);
      out["counters"] = counters_of(*engine, fabric_.engine().now());
      if (wish_.vls && engine->link != nullptr) out["vls"] = vls_json(*engine, wish_.now);
    }
    return out;
  }

  /// Of a cable, or of one to another fabric; null: there is none.
  Json peer_of(fabric::PortAddress address, fabric::PortId id) const {
    if (const auto peer = fabric_.topology().peer(address))
      return {{"node", fabric_.topology().node(peer->node).name}, {"port", peer->port}};
    const FabricCable* const cable = fabric_.cables().find(id, fabric_.engine());
    if (cable == nullptr || cable->peer().empty()) return nullptr;
    return {{"fabric", cable->peer()}, {"up", cable->is_up()}};
  }

  double seconds() const { return std::chrono::duration<double>(fabric_.load().window(wish_.now)).count(); }

  /// The part of the rate that goes out and comes in, and what is wrong with the cable.
  void add_link(const fabric::EnginePort& port, const mad::PortInfo& info, Json& out) const {
    const std::uint64_t rate = rate_of(*port.link, info);
    const double most = static_cast<double>(rate) * seconds();
    const auto part = [&](const fabric::EnginePort& end) {
      const auto sent = static_cast<double>(fabric_.load().bytes_sent(end, wish_.now));
      return most > 0 ? sent / most : 0;
    };
    out["bytes_per_second"] = rate;
    out["load"] = {{"out", part(port)}, {"in", part(*port.peer)}};
    if (!port.link->connected) out["pulled"] = true;
    if (port.link->faults.packet_errors > 0) out["damaged_part"] = port.link->faults.packet_errors;
  }

  const EmulatedFabric& fabric_;
  const ReportWish& wish_;
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

}  // namespace

std::string report(const EmulatedFabric& fabric, const ReportWish& wish) {
  return Report(fabric, wish).whole().to_string();
}

std::string manager_log(const EmulatedFabric& fabric) {
  const std::deque<std::string> lines =
      fabric.manager() != nullptr ? fabric.manager()->log() : last_lines(fabric.log_file());
  return Json::array_of(lines).to_string();
}

}  // namespace softrnic::fabricd
