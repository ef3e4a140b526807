#include <array>
#include <unordered_map>
#include <utility>
#include <vector>

#include "fabric/hex.h"
#include "fabric/ibnetdiscover_format.h"
#include "fabric/line_scanner.h"
#include "fabric/net_records.h"

namespace softrnic::fabric {
namespace {

using Trouble = std::string;  // empty: none

constexpr LinkRate kUnknownRate{LinkWidth::x4, LinkSpeed::sdr};

/// The lines above a node that tell its numbers.
struct Header {
  std::uint32_t vendor_id = 0;
  std::uint16_t device_id = 0;
  Guid system_image_guid;
  std::optional<NodeType> type;  ///< of which it has the GUID
  Guid guid;
  std::optional<Guid> port0_guid;
};

class IbnetdiscoverReader {
 public:
  Expected<DiscoveredFabric, TextError> read(std::string_view text) {
    TextLines lines(text);
    while (const auto line = lines.next()) {
      line_ = line->number;
      Trouble trouble = line->text.size() > kMaxLineBytes
                            ? "this line is longer than " + std::to_string(kMaxLineBytes) + " bytes"
                            : take(line->text);
      if (!trouble.empty()) return Unexpected{TextError{line_, std::move(trouble)}};
    }
    if (Trouble trouble = close(); !trouble.empty()) return Unexpected{TextError{line_, std::move(trouble)}};
    name_by_descriptions();
    DiscoveredFabric fabric{Topology(), lids()};
    auto topology = assemble(std::move(records_));
    if (!topology) return Unexpected{topology.error()};
    fabric.topology = std::move(*topology);
    return fabric;
  }

 private:
  using Directive = Trouble (IbnetdiscoverReader::*)(LineScanner& line);
  struct Row {
    std::string_view word;
    Directive read;
  };
  static const std::array<Row, 6> kDirectives;

  Trouble take(std::string_view text) {
    if (text.starts_with('#')) return {};
    if (text.starts_with('[')) return port(text);
    if (Trouble trouble = close(); !trouble.empty()) return trouble;
    if (text.empty() || is_heading(text)) return {};
    LineScanner line(text);
    const std::string_view word = line.take_letters();
    if (node_type_of(word)) return node(text);
    for (const Row& row : kDirectives) {
      if (row.word == word) return (this->*row.read)(line);
    }
    return quoted(text) +
           ": expected what ibnetdiscover prints: a node (Switch, Ca, Rt), a port ([1] \"PEER\"[1]), "
           "vendid, devid, sysimgguid, switchguid, caguid, rtguid, a comment or the heading of a chassis";
  }

  /// Of -g.
  static bool is_heading(std::string_view text) {
    return text.starts_with("Chassis ") || text.starts_with("Non-Chassis Nodes") ||
           text.starts_with("Hostname:");
  }

  Trouble node(std::string_view text) {
    const auto line = parse_node_line(text);
    if (!line) return line.error();
    NodeRecord record = node_record(*line, line_);
    record.name = record.id;
    record.rate = kUnknownRate;
    if (Trouble trouble = identify(record); !trouble.empty()) return trouble;
    records_.push_back(std::move(record));
    open_ = true;
    return {};
  }

  /// The GUIDs of a node. Its ID has the first of them too, so the lines above it may be missing.
  Trouble identify(NodeRecord& record) {
    const Header header = std::exchange(header_, Header());
    const auto id = parse_typed_guid(record.id);
    if (!id || id->type != record.type)
      return quoted(record.id) + ": expected " + to_string(TypedGuid{record.type, Guid()}).substr(0, 2) +
             " and a GUID of 16 hexadecimal digits";
    record.guid = id->guid;
    if (header.type && (*header.type != record.type || header.guid != record.guid))
      return quoted(record.id) + " is not the node whose GUID 0x" + hex(header.guid.value) +
             " stands above it";
    record.port0_guid = header.port0_guid.value_or(record.guid);
    record.system_image_guid = header.system_image_guid;
    record.vendor_id = header.vendor_id;
    record.device_id = header.device_id;
    return {};
  }

  Trouble port(std::string_view text) {
    if (!open_) return "a port, but there is no node above it: expected Switch, Ca or Rt first";
    const auto line = parse_port_line(text);
    if (!line) return line.error();
    PortRecord record = port_record(*line, line_);
    record.rate = line->rate.value_or(kUnknownRate);
    records_.back().ports.push_back(std::move(record));
    return {};
  }

  /// Ends the node that is open; with -g one stands there again among the switches of its chassis.
  Trouble close() {
    if (!std::exchange(open_, false)) return {};
    NodeRecord& record = records_.back();
    if (const auto closed = close_record(record); !closed) {
      line_ = closed.error().line;
      return closed.error().what;
    }
    const auto [first, is_new] = by_id_.emplace(record.id, records_.size() - 1);
    if (is_new) return {};
    const NodeRecord& before = records_[first->second];
    line_ = record.line;
    if (!same_content(before, record))
      return quoted(record.id) + " has been described otherwise in line " + std::to_string(before.line);
    records_.pop_back();
    return {};
  }

  /// People know a node by its description, "node17 mlx5_0", where no other one has the same, and not by its ID.
  void name_by_descriptions() {
    std::unordered_map<std::string_view, std::size_t> times;
    for (const NodeRecord& record : records_) ++times[record.description], ++times[record.id];
    for (NodeRecord& record : records_)
      if (is_node_name(record.description) && times[record.description] == 1)
        record.name = record.description;
  }

  /// As everywhere, LIDs of ports that have one, wherever else the text shows some.
  LidMap lids() const {
    LidMap lids;
    for (std::size_t index = 0; index < records_.size(); ++index) {
      const NodeIndex node(static_cast<std::uint32_t>(index));
      const NodeRecord& record = records_[index];
      if (record.type == NodeType::switch_node) {
        if (!record.lid.is_reserved()) lids.emplace(PortAddress{node, 0}, record.lid);
        continue;
      }
      for (const PortRecord& entry : record.ports) {
        if (!entry.lid.is_reserved()) lids.emplace(PortAddress{node, entry.port}, entry.lid);
      }
    }
    return lids;
  }

  Trouble assigned_number(LineScanner& line, std::uint64_t most, std::uint64_t& out) {
    const LineScanner before = line;
    const auto value = line.take("=") ? line.take_number() : std::nullopt;
    if (!value || *value > most)
      return quoted(before.rest()) + ": expected = and a number, at most 0x" + hex(most);
    out = *value;
    return {};
  }

  Trouble vendor_id(LineScanner& line) {
    std::uint64_t value = 0;
    Trouble trouble = assigned_number(line, 0xffffff, value);
    header_.vendor_id = static_cast<std::uint32_t>(value);
    return trouble;
  }
  Trouble device_id(LineScanner& line) {
    std::uint64_t value = 0;
    Trouble trouble = assigned_number(line, 0xffff, value);
    header_.device_id = static_cast<std::uint16_t>(value);
    return trouble;
  }
  Trouble system_image_guid(LineScanner& line) {
    return assigned_number(line, ~std::uint64_t{0}, header_.system_image_guid.value);
  }

  /// "=0x2c903", and of switches the GUID of port 0 after it: "(2c903)"
  template <NodeType type>
  Trouble guid(LineScanner& line) {
    if (Trouble trouble = assigned_number(line, ~std::uint64_t{0}, header_.guid.value); !trouble.empty())
      return trouble;
    header_.type = type;
    if (type != NodeType::switch_node || !line.take("(")) return {};
    const auto value = line.take_hex();
    if (!value || !line.take(")"))
      return quoted(line.rest()) + ": expected the GUID of port 0 in parentheses";
    header_.port0_guid = Guid(*value);
    return {};
  }

  std::size_t line_ = 0;  ///< that the trouble is in, if there is any
  bool open_ = false;     ///< port lines belong to the last record
  Header header_;
  std::vector<NodeRecord> records_;
  std::unordered_map<std::string, std::size_t> by_id_;
};

constexpr std::array<IbnetdiscoverReader::Row, 6> IbnetdiscoverReader::kDirectives{{
    {"vendid", &IbnetdiscoverReader::vendor_id},
    {"devid", &IbnetdiscoverReader::device_id},
    {"sysimgguid", &IbnetdiscoverReader::system_image_guid},
    {"switchguid", &IbnetdiscoverReader::guid<NodeType::switch_node>},
    {"caguid", &IbnetdiscoverReader::guid<NodeType::channel_adapter>},
    {"rtguid", &IbnetdiscoverReader::guid<NodeType::router>},
}};

}  // namespace

Expected<DiscoveredFabric, TextError> read_ibnetdiscover(std::string_view text) {
  return IbnetdiscoverReader().read(text);
}

}  // namespace softrnic::fabric
