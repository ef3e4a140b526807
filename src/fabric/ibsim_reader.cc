#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>
#include <vector>

#include "fabric/ibsim_format.h"
#include "fabric/line_scanner.h"
#include "fabric/net_records.h"

namespace softrnic::fabric {
namespace {

using Trouble = std::string;  // empty: none

constexpr std::size_t kMaxPrefixBytes = 20;

constexpr std::size_t index_of(NodeType type) { return static_cast<std::size_t>(type) - 1; }

/// GUIDs of one type of nodes.
struct GuidCounter {
  std::uint64_t base;  ///< the last one given with "="
  std::uint64_t next;
};

struct Alias {
  std::size_t line = 0;
  std::string node;
  std::uint8_t port = 0;
};

class IbsimReader {
 public:
  Expected<Topology, TextError> read(std::string_view text) {
    TextLines lines(text);
    while (const auto line = lines.next()) {
      line_ = line->number;
      Trouble trouble = line->text.size() > kMaxLineBytes
                            ? "this line is longer than " + std::to_string(kMaxLineBytes) + " bytes"
                            : take(line->text);
      if (!trouble.empty()) return Unexpected{TextError{line_, std::move(trouble)}};
    }
    if (Trouble trouble = close(); !trouble.empty()) return Unexpected{TextError{line_, std::move(trouble)}};
    if (Trouble trouble = resolve_aliases(); !trouble.empty())
      return Unexpected{TextError{line_, std::move(trouble)}};
    return assemble(std::move(records_));
  }

 private:
  using Directive = Trouble (IbsimReader::*)(LineScanner& line);
  struct Row {
    std::string_view word;
    Directive read;
  };
  static const std::array<Row, 17> kDirectives;

  Trouble take(std::string_view text) {
    if (text.starts_with('#')) return {};
    if (text.starts_with('[') || text.starts_with('@')) return port(text);
    if (Trouble trouble = close(); !trouble.empty()) return trouble;
    if (text.empty()) return {};
    LineScanner line(text);
    const std::string_view word = line.take_letters();
    if (node_type_of(word)) return node(text);
    for (const Row& row : kDirectives) {
      if (row.word == word) return (this->*row.read)(line);
    }
    return quoted(text) +
           ": expected a node (Switch, Ca, Hca, Rt), a port ([1] \"PEER\"[1]), a setting "
           "(switchguid, caguid, rtguid, vendid, devid, sysimgguid, width, speed, extspeed, module) or a "
           "comment";
  }

  Trouble node(std::string_view text) {
    const auto line = parse_node_line(text);
    if (!line) return line.error();
    if (line->id.find_first_of("#@") != std::string_view::npos)
      return quoted(line->id) + ": # and @ have a meaning of their own in names; module= makes the #";
    NodeRecord record = node_record(*line, line_);
    record.id = full_id(line->id);
    record.name = prefix_.empty() ? record.id : prefix_ + "." + std::string(line->id);
    if (record.description.empty()) record.description = record.name;
    record.guid = record.port0_guid = take_guid(record);
    record.system_image_guid = system_image_guid_.value == 0 ? record.guid : system_image_guid_;
    record.vendor_id = std::exchange(vendor_id_, 0);
    record.device_id = device_id_;
    system_image_guid_ = Guid();
    record.rate = best_rate(masks_, masks_);
    records_.push_back(std::move(record));
    open_ = true;
    return {};
  }

  Trouble port(std::string_view text) {
    if (!open_) return "a port, but there is no node above it: expected Switch, Ca, Hca or Rt first";
    const auto line = parse_port_line(text);
    if (!line) return line.error();
    NodeRecord& owner = records_.back();
    PortRecord record = port_record(*line, line_);
    record.rate = line->rate.value_or(best_rate(line->masks, masks_));
    if (line->names_port) {
      record.peer.clear();
      owner.ports.push_back(std::move(record));
      return name_port(line->peer, owner.id, line->port);
    }
    record.one_sided = record.peer.find('@') != std::string::npos;
    record.peer = record.one_sided ? full_alias(record.peer) : full_id(record.peer);
    owner.ports.push_back(std::move(record));
    return {};
  }

  Trouble name_port(std::string_view alias, const std::string& node, std::uint8_t port) {
    if (alias.find_first_of("#@") != std::string_view::npos)
      return quoted(alias) + ": # and @ have a meaning of their own in names";
    const auto [first, is_new] =
        aliases_.emplace(full_alias("@" + std::string(alias)), Alias{line_, node, port});
    if (is_new) return {};
    return quoted(alias) + " is the name of another port, see line " + std::to_string(first->second.line);
  }

  /// Ends the node that is open.
  Trouble close() {
    if (!std::exchange(open_, false)) return {};
    const auto closed = close_record(records_.back());
    if (closed) return {};
    line_ = closed.error().line;
    return closed.error().what;
  }

  Trouble resolve_aliases() {
    for (NodeRecord& record : records_) {
      for (PortRecord& port : record.ports) {
        if (!port.one_sided) continue;
        const auto found = aliases_.find(port.peer);
        if (found == aliases_.end()) {
          line_ = port.line;
          return quoted(port.peer) + ": expected a name that a line @[PORT] \"NAME\" gives";
        }
        port.peer = found->second.node;
        port.peer_port = found->second.port;
      }
    }
    return {};
  }

  std::string full_id(std::string_view id) const {
    const bool is_full = prefix_.empty() || id.find('#') != std::string_view::npos;
    return is_full ? std::string(id) : prefix_ + "#" + std::string(id);
  }
  std::string full_alias(std::string_view alias) const {
    return (alias.starts_with('@') ? prefix_ : std::string()) + std::string(alias);
  }

  Guid take_guid(const NodeRecord& record) {
    GuidCounter& counter = guids_[index_of(record.type)];
    const Guid guid(counter.next);
    counter.next += record.type == NodeType::switch_node ? 1U : record.port_count + 1U;
    return guid;
  }

  Trouble assigned_number(LineScanner& line, std::uint64_t most, std::uint64_t& out) {
    const LineScanner before = line;
    const auto value = line.take("=") ? line.take_number() : std::nullopt;
    if (!value || *value > most)
      return quoted(before.rest()) + ": expected = and a number, at most " + std::to_string(most);
    out = *value;
    return {};
  }

  template <NodeType type>
  Trouble guid(LineScanner& line) {
    GuidCounter& counter = guids_[index_of(type)];
    const LineScanner before = line;
    const bool is_relative = line.take("+");
    const auto value = is_relative || line.take("=") ? line.take_number() : std::nullopt;
    if (!value) return quoted(before.rest()) + ": expected = and a GUID, or + and a distance";
    if (!is_relative) counter.base = *value;
    counter.next = is_relative ? counter.base + *value : *value;
    return {};
  }

  Trouble vendor_id(LineScanner& line) {
    std::uint64_t value = 0;
    Trouble trouble = assigned_number(line, 0xffffff, value);
    vendor_id_ = static_cast<std::uint32_t>(value);
    return trouble;
  }
  Trouble device_id(LineScanner& line) {
    std::uint64_t value = 0;
    Trouble trouble = assigned_number(line, 0xffff, value);
    device_id_ = static_cast<std::uint16_t>(value);
    return trouble;
  }
  Trouble system_image_guid(LineScanner& line) {
    return assigned_number(line, ~std::uint64_t{0}, system_image_guid_.value);
  }

  template <char key>
  Trouble mask(LineScanner& line) {
    std::uint64_t value = 0;
    if (Trouble trouble = assigned_number(line, 0xff, value); !trouble.empty()) return trouble;
    const auto set = set_mask(masks_, key, value);
    return set ? Trouble() : set.error();
  }

  Trouble module(LineScanner& line) {
    const LineScanner before = line;
    const auto prefix = line.take("=") ? line.take_quoted() : std::nullopt;
    if (!prefix || prefix->size() > kMaxPrefixBytes || prefix->find_first_of("#@") != std::string_view::npos)
      return quoted(before.rest()) + ": expected = and a name of at most 20 bytes in quotes, without # and @";
    prefix_ = std::string(*prefix);
    return {};
  }

  Trouble include(LineScanner&) {
    return "include is not possible here: put the text of that file in its place";
  }
  Trouble command(LineScanner&) {
    return "do is a command for ibsim's console, which is not here: leave it out";
  }
  Trouble nothing(LineScanner&) { return {}; }

  std::size_t line_ = 0;  ///< that the trouble is in, if there is any
  bool open_ = false;     ///< port lines belong to the last record
  std::vector<NodeRecord> records_;
  std::unordered_map<std::string, Alias> aliases_;

  std::array<GuidCounter, 3> guids_{{{0x100000, 0x100000}, {0x200000, 0x200000}, {0x300000, 0x300000}}};
  std::string prefix_;
  std::uint32_t vendor_id_ = 0;
  std::uint16_t device_id_ = 0;
  Guid system_image_guid_;
  LinkMasks masks_{std::uint8_t{2}, std::uint8_t{1}, std::uint8_t{0}};  // 4x, SDR
};

constexpr std::array<IbsimReader::Row, 17> IbsimReader::kDirectives{{
    {"switchguid", &IbsimReader::guid<NodeType::switch_node>},
    {"switchguids", &IbsimReader::guid<NodeType::switch_node>},
    {"caguid", &IbsimReader::guid<NodeType::channel_adapter>},
    {"caguids", &IbsimReader::guid<NodeType::channel_adapter>},
    {"hcaguid", &IbsimReader::guid<NodeType::channel_adapter>},
    {"hcaguids", &IbsimReader::guid<NodeType::channel_adapter>},
    {"rtguid", &IbsimReader::guid<NodeType::router>},
    {"vendid", &IbsimReader::vendor_id},
    {"devid", &IbsimReader::device_id},
    {"sysimgguid", &IbsimReader::system_image_guid},
    {"width", &IbsimReader::mask<'w'>},
    {"speed", &IbsimReader::mask<'s'>},
    {"extspeed", &IbsimReader::mask<'e'>},
    {"module", &IbsimReader::module},
    {"include", &IbsimReader::include},
    {"pdebug", &IbsimReader::nothing},
    {"do", &IbsimReader::command},
}};

}  // namespace

Expected<Topology, TextError> read_ibsim(std::string_view text) { return IbsimReader().read(text); }

}  // namespace softrnic::fabric
