#include "subnet/pkey_tables.h"

#include <algorithm>
#include <optional>

namespace softrnic::subnet {
namespace {

bool applies(const PartitionRule& rule, const EndPort& port, bool is_self) {
  switch (rule.choice) {
    case PortChoice::guid:
      return port.guid == rule.guid;
    case PortChoice::all:
      return true;
    case PortChoice::all_cas:
      return port.type == NodeType::channel_adapter;
    case PortChoice::all_switches:
      return port.type == NodeType::switch_node;
    case PortChoice::all_routers:
      return port.type == NodeType::router;
    case PortChoice::self:
      return is_self;
  }
  return false;
}

// The subnet manager stays a full member of the default partition whatever the rules say: limited members
// could not speak to the subnet administrator otherwise (IBTA 10.9.3).
std::optional<Membership> membership_of(const Partition& partition, const EndPort& port, bool is_self) {
  const auto last = std::find_if(partition.rules.rbegin(), partition.rules.rend(),
                                 [&](const PartitionRule& rule) { return applies(rule, port, is_self); });
  if (last == partition.rules.rend()) return std::nullopt;
  const bool needs_full = is_self && partition.number == kDefaultPartition;
  return needs_full && last->membership == Membership::limited ? Membership::full : last->membership;
}

struct WantedPkeys {
  std::uint16_t first = 0;  // for index 0; 0: none
  std::vector<std::uint16_t> others;
};

WantedPkeys wanted_pkeys(std::span<const Partition> partitions, const EndPort& port, bool is_self,
                         bool allow_both) {
  WantedPkeys wanted;
  bool has_index0 = false;
  for (const Partition& partition : partitions) {
    const auto membership = membership_of(partition, port, is_self);
    if (!membership) continue;
    const std::uint16_t limited = partition.number & kPartitionMask;
    const auto full = static_cast<std::uint16_t>(limited | kFullMember);
    const std::uint16_t pkey = *membership == Membership::limited ? limited : full;
    if (*membership == Membership::both && allow_both) wanted.others.push_back(limited);
    const bool is_first = !has_index0 && (partition.index0 || partition.number == kDefaultPartition);
    has_index0 |= partition.index0;
    if (is_first && wanted.first != 0) wanted.others.push_back(wanted.first);
    if (is_first) {
      wanted.first = pkey;
    } else {
      wanted.others.push_back(pkey);
    }
  }
  return wanted;
}

// Fills the table of one port.
class TableFiller {
 public:
  TableFiller(std::span<const std::uint16_t> before, std::size_t room) : before_(before), table_(room) {}

  // Returns whether all found room.
  bool fill(const WantedPkeys& wanted) {
    if (table_.empty()) return wanted.first == 0 && wanted.others.empty();
    table_[0] = wanted.first;
    std::vector<std::uint16_t> left = wanted.others;
    std::erase_if(left, [&](std::uint16_t pkey) { return put_where_before(pkey, 0xffff); });
    // Where only the membership has changed, the index stays too.
    std::erase_if(left, [&](std::uint16_t pkey) { return put_where_before(pkey, kPartitionMask); });
    std::erase_if(left, [&](std::uint16_t pkey) { return put_in(lowest_free(), pkey); });
    return left.empty();
  }

  PkeyTable table() {
    while (!table_.empty() && table_.back() == 0) table_.pop_back();
    return std::move(table_);
  }

 private:
  bool put_where_before(std::uint16_t pkey, std::uint16_t mask) {
    for (std::size_t index = 1; index < before_.size(); ++index) {
      const bool is_same = before_[index] != 0 && (before_[index] & mask) == (pkey & mask);
      if (is_same && put_in(index, pkey)) return true;
    }
    return false;
  }

  std::size_t lowest_free() const {
    return static_cast<std::size_t>(std::find(table_.begin() + 1, table_.end(), 0) - table_.begin());
  }

  bool put_in(std::size_t index, std::uint16_t pkey) {
    if (index >= table_.size() || table_[index] != 0) return false;
    table_[index] = pkey;
    return true;
  }

  std::span<const std::uint16_t> before_;
  PkeyTable table_;
};

}  // namespace

PkeyTables make_pkey_tables(const Graph& graph, std::span<const Partition> partitions,
                            const PkeyOptions& options, std::span<const PkeyTable> before) {
  PkeyTables made;
  made.tables.resize(graph.end_ports().size());
  for (std::uint32_t i = 0; i < made.tables.size(); ++i) {
    const EndPort& port = graph.end_ports()[i];
    const bool is_self = EndPortId(i) == options.self;
    TableFiller filler(i < before.size() ? std::span(before[i]) : std::span<const std::uint16_t>(),
                       port.partition_cap);
    if (!filler.fill(wanted_pkeys(partitions, port, is_self, options.allow_both))) {
      made.overflows.push_back(EndPortId(i));
    }
    made.tables[i] = filler.table();
  }
  return made;
}

}  // namespace softrnic::subnet
