#include <algorithm>
#include <array>
#include <unordered_map>

#include "fabric/hex.h"
#include "fabric/ibsim_format.h"
#include "fabric/net_records.h"

namespace softrnic::fabric {
namespace {

constexpr std::string_view keyword_of(NodeType type) {
  switch (type) {
    case NodeType::switch_node:
      return "Switch";
    case NodeType::router:
      return "Rt";
    case NodeType::channel_adapter:
      break;
  }
  return "Ca";
}

constexpr std::string_view guid_keyword_of(NodeType type) {
  switch (type) {
    case NodeType::switch_node:
      return "switchguid";
    case NodeType::router:
      return "rtguid";
    case NodeType::channel_adapter:
      break;
  }
  return "caguid";
}

/// What a port of this rate has enabled: all up to it, as in lower().
struct Enabled {
  unsigned widths = 0, speeds = 0, speeds_ext = 0;

  explicit Enabled(LinkRate rate) {
    for (const LinkWidthRow& row : kLinkWidths) {
      if (row.lanes <= row_of(rate.width).lanes) widths |= static_cast<unsigned>(row.width);
    }
    for (const LinkSpeedRow& row : kLinkSpeeds) {
      if (row.speed > rate.speed) break;
      (row.link_speed_ext_active == 0 ? speeds : speeds_ext) |=
          row.link_speed_ext_active == 0 ? row.link_speed_active : row.link_speed_ext_active;
    }
  }
};

/// A description between quotes cannot have one inside.
std::string in_quotes(std::string text) {
  std::replace(text.begin(), text.end(), '"', '\'');
  return "\"" + text + "\"";
}

/// The GUID that the reader gives a port by itself, if no other port has it.
std::uint64_t usual_guid(const Node& node, std::size_t port) { return node.guid.value + port; }

class IbsimWriter {
 public:
  explicit IbsimWriter(const Topology& topology) : topology_(topology) {
    for (const Node& node : topology.nodes()) {
      if (node.type == NodeType::switch_node) continue;
      for (std::size_t number = 1; number < node.ports.size(); ++number) ++claims_[usual_guid(node, number)];
    }
  }

  std::string write() {
    if (!topology_.nodes().empty()) write_common_rate();
    for (const Node& node : topology_.nodes()) {
      write_ids(node);
      write_header(node);
      for (std::size_t number = 1; number < node.ports.size(); ++number) write_port(node, number);
    }
    return std::move(out_);
  }

 private:
  void write_common_rate() {
    rate_ = topology_.nodes().front().ports[1].rate;
    const Enabled enabled(rate_);
    out_ += "width=" + std::to_string(enabled.widths) + "\nspeed=" + std::to_string(enabled.speeds) +
            "\nextspeed=" + std::to_string(enabled.speeds_ext) + "\n";
  }

  /// What stands above a node: of its GUID only that the reader would not count up to.
  void write_ids(const Node& node) {
    out_ += "\n";
    if (node.vendor_id != 0) out_ += "vendid=0x" + hex(node.vendor_id) + "\n";
    if (node.device_id != device_id_) out_ += "devid=0x" + hex(node.device_id) + "\n";
    device_id_ = node.device_id;
    if (node.system_image_guid.value != 0 && node.system_image_guid != node.guid)
      out_ += "sysimgguid=0x" + hex(node.system_image_guid.value) + "\n";
    std::uint64_t& next = next_guid_[static_cast<std::size_t>(node.type) - 1];
    if (node.guid.value != next)
      out_ += std::string(guid_keyword_of(node.type)) + "=0x" + hex(node.guid.value) + "\n";
    next = node.guid.value + (node.type == NodeType::switch_node ? 1 : node.port_count() + 1);
  }

  void write_header(const Node& node) {
    out_ += std::string(keyword_of(node.type)) + "\t" + std::to_string(node.port_count()) + " \"" +
            node.name + "\"";
    if (node.description != node.name || node.enhanced_port0) out_ += "\t\t# " + in_quotes(node.description);
    if (node.enhanced_port0) out_ += " enhanced port 0 lid 0 lmc " + std::to_string(node.ports[0].lmc);
    out_ += "\n";
  }

  void write_port(const Node& node, std::size_t number) {
    const Port& port = node.ports[number];
    if (!port.peer) return;
    const Node& peer = topology_.node(port.peer->node);
    const bool is_switch = node.type == NodeType::switch_node;
    out_ += "[" + std::to_string(number) + "]";
    if (!is_switch && !comes_by_itself(node, number)) out_ += "(" + hex(port.guid.value) + ")";
    out_ += "\t\"" + peer.name + "\"[" + std::to_string(port.peer->port) + "]";
    const LinkSpeed speed = port.rate.speed;
    if (port.lmc != 0 || speed == LinkSpeed::fdr10) {  // only the comment of ibnetdiscover tells these
      out_ += "\t\t# ";
      if (!is_switch) out_ += "lid 0 lmc " + std::to_string(port.lmc) + " ";
      out_ += "\"" + peer.name + "\" lid 0 " + to_string(port.rate);
    } else if (port.rate != rate_) {
      const Enabled enabled(port.rate);
      out_ += "\tw=" + std::to_string(enabled.widths) + " s=" + std::to_string(enabled.speeds) +
              " e=" + std::to_string(enabled.speeds_ext);
    }
    out_ += "\n";
  }

  /// Ports of other nodes may come first by a usual GUID, or be given it as a spare one.
  bool comes_by_itself(const Node& node, std::size_t number) const {
    const std::uint64_t usual = usual_guid(node, number);
    const std::size_t most_spares = 2 * (topology_.port_count() + topology_.nodes().size());
    return node.ports[number].guid.value == usual && claims_.at(usual) == 1 &&
           usual - kFirstSpareGuid >= most_spares;
  }

  const Topology& topology_;
  std::unordered_map<std::uint64_t, unsigned> claims_;  ///< ports that have this usual GUID
  std::string out_;
  LinkRate rate_;
  std::uint16_t device_id_ = 0;
  std::array<std::uint64_t, 3> next_guid_{0x100000, 0x200000, 0x300000};
};

}  // namespace

std::string write_ibsim(const Topology& topology) { return IbsimWriter(topology).write(); }

}  // namespace softrnic::fabric
