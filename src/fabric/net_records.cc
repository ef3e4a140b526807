#include "fabric/net_records.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace softrnic::fabric {
namespace {

std::string port_of(const NodeRecord& record, unsigned port) {
  return "port " + std::to_string(port) + " of " + quoted(record.id);
}

bool same_port(const PortRecord& a, const PortRecord& b) {
  return a.port == b.port && a.guid == b.guid && a.peer == b.peer && a.peer_port == b.peer_port &&
         a.peer_guid == b.peer_guid && a.rate == b.rate && a.lmc == b.lmc;
}

template <typename Record>  // const or not
auto find_port(Record& record, std::uint8_t port) -> decltype(record.ports.data()) {
  const auto found = std::lower_bound(record.ports.begin(), record.ports.end(), port,
                                      [](const PortRecord& entry, std::uint8_t n) { return entry.port < n; });
  return found != record.ports.end() && found->port == port ? &*found : nullptr;
}

/// Gives GUIDs to the ports of adapters whose GUIDs the text does not tell.
class PortGuids {
 public:
  void see(const std::vector<NodeRecord>& records) {
    for (const NodeRecord& record : records) {
      told_.insert(record.guid.value);
      for (const PortRecord& port : record.ports) {
        if (port.guid) told_.insert(port.guid->value);
      }
    }
  }

  Guid of(const NodeRecord& record, unsigned number) {
    const Guid usual(record.guid.value + number);
    if (usual.value != 0 && told_.insert(usual.value).second) return usual;
    while (!told_.insert(spare_).second) ++spare_;
    return Guid(spare_);
  }

 private:
  std::unordered_set<std::uint64_t> told_;
  std::uint64_t spare_ = kFirstSpareGuid;
};

class Assembly {
 public:
  explicit Assembly(std::vector<NodeRecord> records) : records_(std::move(records)) {}

  Expected<Topology, TextError> run() {
    if (records_.empty())
      return Unexpected{
          TextError{0, "no node is described: expected lines that begin with Switch, Ca or Rt"}};
    for (std::size_t index = 0; index < records_.size(); ++index) {
      if (const auto named = name(index); !named) return Unexpected{named.error()};
    }
    learn_guids_of_peers();
    guids_.see(records_);
    for (const NodeRecord& record : records_) {
      if (const auto added = topology_.add(node_of(record)); !added)
        return Unexpected{TextError{record.line, added.error()}};
    }
    for (std::size_t index = 0; index < records_.size(); ++index) {
      for (const PortRecord& port : records_[index].ports) {
        if (const auto joined = join(index, port); !joined) return Unexpected{joined.error()};
      }
    }
    return std::move(topology_);
  }

 private:
  Expected<void, TextError> name(std::size_t index) {
    const NodeRecord& record = records_[index];
    const auto [first, is_new] = by_id_.emplace(record.id, index);
    if (is_new) return {};
    return Unexpected{TextError{record.line, quoted(record.id) + " has been described already, in line " +
                                                 std::to_string(records_[first->second].line)}};
  }

  /// The line of a port may tell the GUID of its peer only.
  void learn_guids_of_peers() {
    for (const NodeRecord& record : records_) {
      for (const PortRecord& port : record.ports) {
        const auto found = port.peer_guid ? by_id_.find(port.peer) : by_id_.end();
        if (found == by_id_.end()) continue;
        PortRecord* back = find_port(records_[found->second], port.peer_port);
        if (back && !back->guid) back->guid = port.peer_guid;
      }
    }
  }

  Node node_of(const NodeRecord& record) {
    Node node = make_node(record.type, record.name, record.port_count, record.guid, record.rate);
    node.description = record.description;
    node.system_image_guid = record.system_image_guid;
    node.vendor_id = record.vendor_id;
    node.device_id = record.device_id;
    node.enhanced_port0 = record.enhanced_port0;
    for (const PortRecord& port : record.ports) {
      node.ports[port.port].rate = port.rate;
      if (record.type == NodeType::switch_node) continue;
      node.ports[port.port].lmc = port.lmc;
      node.ports[port.port].guid = port.guid.value_or(Guid());
    }
    if (record.type == NodeType::switch_node) {
      node.ports[0].guid = record.port0_guid;
      node.ports[0].lmc = record.lmc;
    } else {
      complete_guids(record, node);
    }
    return node;
  }

  void complete_guids(const NodeRecord& record, Node& node) {
    for (unsigned number = 1; number <= record.port_count; ++number) {
      const PortRecord* told = find_port(record, static_cast<std::uint8_t>(number));
      if (!told || !told->guid) node.ports[number].guid = guids_.of(record, number);
    }
  }

  Expected<void, TextError> join(std::size_t index, const PortRecord& port) {
    if (port.peer.empty()) return {};
    const NodeRecord& record = records_[index];
    const auto found = by_id_.find(port.peer);
    if (found == by_id_.end())
      return Unexpected{TextError{port.line, port_of(record, port.port) + " leads to " + quoted(port.peer) +
                                                 ", which is not described anywhere"}};
    const NodeRecord& other = records_[found->second];
    if (std::string why = disagreement(record, port, other); !why.empty())
      return Unexpected{TextError{port.line, std::move(why)}};
    const PortAddress here = address(index, port.port), there = address(found->second, port.peer_port);
    if (topology_.peer(here) == there) return {};  // made when the other end was looked at
    if (const auto made = topology_.connect(here, there); !made)
      return Unexpected{TextError{port.line, made.error()}};
    return {};
  }

  /// In what the other end of a cable says differently, if it does.
  std::string disagreement(const NodeRecord& record, const PortRecord& port, const NodeRecord& other) const {
    if (port.peer_port > other.port_count)
      return port_of(record, port.port) + " leads to " + port_of(other, port.peer_port) +
             ", which does not exist: it has " + std::to_string(other.port_count) + " ports";
    if (port.one_sided) return {};
    const PortRecord* back = find_port(other, port.peer_port);
    if (!back || back->peer.empty())
      return port_of(record, port.port) + " leads to " + port_of(other, port.peer_port) +
             ", but there is no line for that port";
    if (back->peer != record.id || back->peer_port != port.port)
      return port_of(record, port.port) + " leads to " + port_of(other, port.peer_port) + ", but line " +
             std::to_string(back->line) + " says that it leads to port " + std::to_string(back->peer_port) +
             " of " + quoted(back->peer);
    if (port.peer_guid && back->guid && *port.peer_guid != *back->guid)
      return "the GUID of " + port_of(other, port.peer_port) + " is another one in line " +
             std::to_string(back->line);
    return {};
  }

  static PortAddress address(std::size_t index, std::uint8_t port) {
    return {NodeIndex(static_cast<std::uint32_t>(index)), port};
  }

  std::vector<NodeRecord> records_;
  PortGuids guids_;
  Topology topology_;
  std::unordered_map<std::string_view, std::size_t> by_id_;
};

}  // namespace

NodeRecord node_record(const NodeLine& line, std::size_t number) {
  NodeRecord record;
  record.line = number;
  record.id = std::string(line.id);
  record.type = line.type;
  record.port_count = line.port_count;
  record.description = std::string(line.description);
  record.enhanced_port0 = line.enhanced_port0;
  record.lmc = line.lmc;
  record.lid = line.lid;
  return record;
}

PortRecord port_record(const PortLine& line, std::size_t number) {
  PortRecord record;
  record.line = number;
  record.port = line.port;
  record.guid = line.guid;
  record.peer = std::string(line.peer);
  record.peer_port = line.peer_port;
  record.peer_guid = line.peer_guid;
  record.lmc = line.lmc;
  record.lid = line.lid;
  return record;
}

bool same_content(const NodeRecord& a, const NodeRecord& b) {
  return a.id == b.id && a.type == b.type && a.port_count == b.port_count && a.description == b.description &&
         a.guid == b.guid && a.port0_guid == b.port0_guid && a.system_image_guid == b.system_image_guid &&
         a.vendor_id == b.vendor_id && a.device_id == b.device_id && a.enhanced_port0 == b.enhanced_port0 &&
         a.lmc == b.lmc &&
         std::equal(a.ports.begin(), a.ports.end(), b.ports.begin(), b.ports.end(), same_port);
}

Expected<void, TextError> close_record(NodeRecord& record) {
  const auto before = [](const PortRecord& a, const PortRecord& b) { return a.port < b.port; };
  const auto same = [](const PortRecord& a, const PortRecord& b) { return a.port == b.port; };
  std::stable_sort(record.ports.begin(), record.ports.end(), before);
  const auto twice = std::adjacent_find(record.ports.begin(), record.ports.end(), same);
  if (twice != record.ports.end())
    return Unexpected{TextError{twice[1].line, port_of(record, twice->port) +
                                                   " has been described already, in line " +
                                                   std::to_string(twice->line)}};
  if (!record.ports.empty() && record.ports.back().port > record.port_count)
    return Unexpected{TextError{record.ports.back().line, port_of(record, record.ports.back().port) +
                                                              " does not exist: it has " +
                                                              std::to_string(record.port_count) + " ports"}};
  return {};
}

Expected<Topology, TextError> assemble(std::vector<NodeRecord> records) {
  return Assembly(std::move(records)).run();
}

}  // namespace softrnic::fabric
