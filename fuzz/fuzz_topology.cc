// Input: a byte that says what the text behind it is: a net file of ibsim or the output of ibnetdiscover,
// the shape of a fabric, partitions.conf, or opensm.conf. What is read is within all limits, no larger than
// the text can ask for, and can be written and read again; what is refused says why, fit for a terminal.
#include <algorithm>
#include <set>
#include <string>

#include "fabric/ibnetdiscover_format.h"
#include "fabric/ibsim_format.h"
#include "fabric/topology_file.h"
#include "fabric/topology_shapes.h"
#include "fuzz/check.h"
#include "subnet/opensm_conf.h"
#include "subnet/partitions_conf.h"
#include "subnet/routing_engine.h"

using namespace softrnic;
using fabric::Topology;

namespace {

void check_sentence(std::string_view sentence) {
  FUZZ_CHECK(!sentence.empty() && sentence.size() < 1000);
  FUZZ_CHECK(std::none_of(sentence.begin(), sentence.end(),
                          [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }));
}

// ---- topologies

/// Whatever a topology consists of can be put together once more: Topology refuses what breaks a limit.
void check_limits(const Topology& topology) {
  Topology again;
  for (const fabric::Node& node : topology.nodes()) {
    fabric::Node copy = node;
    for (fabric::Port& port : copy.ports) port.peer.reset();
    FUZZ_CHECK(again.add(std::move(copy)).has_value());
  }
  for (const fabric::Cable& cable : topology.cables()) {
    FUZZ_CHECK(again.connect(cable.a, cable.b).has_value());
    FUZZ_CHECK(topology.peer(cable.a) == cable.b && topology.peer(cable.b) == cable.a);
    FUZZ_CHECK(topology.link_rate(cable.a) == topology.link_rate(cable.b));
  }
  FUZZ_CHECK(std::ranges::equal(again.nodes(), topology.nodes()));
  FUZZ_CHECK(again.port_count() == topology.port_count() && again.lid_count() == topology.lid_count());
}

void check_same(const Topology& a, const Topology& b) {
  FUZZ_CHECK(a.nodes().size() == b.nodes().size() && a.cables().size() == b.cables().size());
  for (const fabric::Node& node : a.nodes()) {
    const auto other = b.find(node.guid);
    FUZZ_CHECK(other.has_value());
    const fabric::Node& twin = b.node(*other);
    FUZZ_CHECK(twin.type == node.type && twin.port_count() == node.port_count() && twin.guid == node.guid);
    FUZZ_CHECK(twin.vendor_id == node.vendor_id && twin.device_id == node.device_id);
    for (std::size_t number = 1; number < node.ports.size(); ++number) {
      const auto peer = node.ports[number].peer;
      FUZZ_CHECK(peer.has_value() == twin.ports[number].peer.has_value());
      if (!peer) continue;
      FUZZ_CHECK(twin.ports[number].peer->port == peer->port);
      FUZZ_CHECK(b.node(twin.ports[number].peer->node).guid == a.node(peer->node).guid);
      FUZZ_CHECK(twin.ports[number].rate == node.ports[number].rate);
      FUZZ_CHECK(twin.ports[number].guid == node.ports[number].guid);
    }
  }
}

/// What the tool would print at each adapter is a fabric again, with the node that it was run at.
void check_discovery(const Topology& topology, const fabric::LidMap& lids) {
  constexpr std::uint32_t kMost = 4;
  for (std::uint32_t i = 0; i < std::min<std::size_t>(topology.nodes().size(), kMost); ++i) {
    const fabric::NodeIndex node(i);
    const bool is_switch = topology.node(node).type == fabric::NodeType::switch_node;
    const fabric::PortAddress from{node, static_cast<std::uint8_t>(is_switch ? 0 : 1)};
    const std::string text = fabric::write_ibnetdiscover(topology, lids, from, "Mon Jan  5 10:00:00 2026");
    const auto found = fabric::read_ibnetdiscover(text);
    FUZZ_CHECK(found.has_value());
    FUZZ_CHECK(found->topology.find(topology.node(node).guid).has_value());
    FUZZ_CHECK(found->topology.nodes().size() <= topology.nodes().size());
  }
}

void check_topology(const Topology& topology) {
  check_limits(topology);
  const auto again = fabric::read_ibsim(fabric::write_ibsim(topology));
  FUZZ_CHECK(again.has_value());
  check_same(topology, *again);
}

void read_file(std::string_view text) {
  const auto topology = fabric::read_topology(text);
  if (!topology) {
    check_sentence(to_string(topology.error()));
    return;
  }
  constexpr std::size_t kShortestNode = 6;  // "Ca 1 x", or less
  FUZZ_CHECK(topology->nodes().size() <= text.size() / kShortestNode + 1);
  check_topology(*topology);
  check_discovery(*topology, {});
}

void read_discovery(std::string_view text) {
  const auto found = fabric::read_ibnetdiscover(text);
  if (!found) {
    check_sentence(to_string(found.error()));
    return;
  }
  for (const auto& [port, lid] : found->lids)
    FUZZ_CHECK(found->topology.port(port) != nullptr && !lid.is_reserved());
  check_limits(found->topology);
  check_discovery(found->topology, found->lids);
}

/// Large fabrics take a second each, of which nothing is learnt: numbers are small, or larger than any that
/// is allowed.
bool has_right_size(std::string_view text) {
  constexpr std::size_t kTooLarge = 6;
  std::size_t digits = 0;
  for (const char c : std::string(text) + " ") {
    const bool is_digit = c >= '0' && c <= '9';
    if (!is_digit && digits > 1 && digits < kTooLarge) return false;
    digits = is_digit ? digits + 1 : 0;
  }
  return true;
}

void read_shape(std::string_view text) {
  if (!has_right_size(text)) return;
  const auto topology = fabric::make_topology(text);
  if (!topology) {
    check_sentence(topology.error());
    return;
  }
  FUZZ_CHECK(topology->nodes().size() > 1 && topology->lid_count() <= Topology::kMaxLids);
  if (topology->nodes().size() < 1000) check_topology(*topology);
}

// ---- the manager's files

void check_flags(const subnet::GroupFlags& flags) {
  FUZZ_CHECK(flags.mtu >= 1 && flags.mtu <= 63 && flags.rate >= 1 && flags.rate <= 63);
  FUZZ_CHECK(flags.sl <= 15 && flags.flow_label <= 0xfffff && (flags.scopes & 1) == 0);
}

void read_partitions(std::string_view text) {
  const auto partitions = subnet::parse_partitions_conf(text);
  if (!partitions) {
    FUZZ_CHECK(!name_of(partitions.error().fault).empty());
    return;
  }
  std::set<std::uint16_t> numbers;
  std::size_t rules = 0;
  for (const subnet::Partition& partition : *partitions) {
    FUZZ_CHECK(partition.number != 0 && partition.number <= subnet::kDefaultPartition);
    FUZZ_CHECK(numbers.insert(partition.number).second);
    check_flags(partition.flags);
    rules += partition.rules.size() + partition.groups.size();
    for (const subnet::PartitionGroup& group : partition.groups) check_flags(group.flags);
    const auto groups = groups_of(partition);
    FUZZ_CHECK(groups.size() <= 15 * (partition.groups.size() + 1));
    for (const subnet::MulticastGroup& group : groups) FUZZ_CHECK(group.mgid.is_multicast());
  }
  FUZZ_CHECK(numbers.contains(subnet::kDefaultPartition));
  FUZZ_CHECK(rules <= text.size() + 2 && partitions->size() <= text.size() + 1);
}

void check_qos(const subnet::QosOptions& qos) {
  FUZZ_CHECK(qos.max_vls >= 1 && qos.max_vls <= subnet::kDataVls);
  for (std::uint8_t code = 0; code < 16; ++code) {
    const std::uint8_t vls = subnet::operational_vls(code, 5, qos.max_vls);
    FUZZ_CHECK(vls >= 1 && subnet::vls_of_code(vls) <= qos.max_vls);
    const unsigned count = subnet::vls_of_code(vls);
    for (const std::uint8_t vl : sl_to_vl(qos, vls)) FUZZ_CHECK(vl < count || vl == subnet::kDropVl);
    for (const auto& weights : {qos.vlarb_high, qos.vlarb_low}) {
      const auto table = subnet::arbitration_table(weights, 255, vls);
      FUZZ_CHECK(table.size() <= subnet::kArbitrationEntries);
      for (const subnet::VlWeight& entry : table) FUZZ_CHECK(entry.vl < count);
    }
  }
}

void read_options(std::string_view text) {
  const auto options = subnet::read_opensm_conf(text, {});
  if (!options) {
    FUZZ_CHECK(!name_of(options.error().fault).empty() && options.error().line > 0);
    return;
  }
  FUZZ_CHECK(options->priority <= 15 && options->lids.lmc <= 7 && options->ports.sm_sl <= 15);
  FUZZ_CHECK(options->ports.vl_stall_count <= 7 && options->ports.leaf_vl_stall_count <= 7);
  FUZZ_CHECK(options->ports.packet_life_time <= 31 && options->ports.subnet_timeout <= 31);
  FUZZ_CHECK(options->ports.m_key_protect_bits <= 3 && options->sweep_interval >= Duration{});
  FUZZ_CHECK(std::ranges::find(subnet::routing_engines(), options->routing.engine) !=
             subnet::routing_engines().end());
  for (const auto port : {subnet::QosPort::channel_adapter, subnet::QosPort::router,
                          subnet::QosPort::switch_port0, subnet::QosPort::switch_external})
    check_qos(options->qos_config.options(port));
}

constexpr void (*kReaders[])(std::string_view) = {read_file, read_discovery, read_shape, read_partitions,
                                                  read_options};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input in(data, size);
  const auto reader = in.take<std::uint8_t>() % std::size(kReaders);
  const Bytes text = in.rest();
  kReaders[reader](std::string_view(reinterpret_cast<const char*>(text.data()), text.size()));
  return 0;
}
