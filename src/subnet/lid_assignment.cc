#include "subnet/lid_assignment.h"

#include <algorithm>
#include <array>

namespace softrnic::subnet {
namespace {

constexpr unsigned kLids = Lid::kLastUnicast + 1U;

// Which LIDs are taken. LID 0 always is.
class LidSpace {
 public:
  LidSpace() : taken_(kLids) { taken_[0] = true; }

  // Whether the range is legal and free; it is taken then.
  bool take(LidRange range) {
    const unsigned base = range.base.value;
    const unsigned end = base + range.count();
    if (base == 0 || base % range.count() != 0 || end > kLids) return false;
    for (unsigned lid = base; lid < end; ++lid) {
      if (taken_[lid]) return false;
    }
    std::fill(taken_.begin() + base, taken_.begin() + end, true);
    return true;
  }

  // The lowest free range, or a reserved base.
  LidRange take_lowest(std::uint8_t lmc) {
    const unsigned count = 1U << lmc;
    for (unsigned& base = lowest_[lmc]; base + count <= kLids; base += count) {
      const LidRange range{Lid(static_cast<std::uint16_t>(base)), lmc};
      if (take(range)) return range;
    }
    return {Lid{}, lmc};
  }

 private:
  std::vector<bool> taken_;
  // By LMC: below it nothing is free, as LIDs are only taken.
  std::array<unsigned, kMaxLmc + 1> lowest_{};
};

std::uint8_t wanted_lmc(const Graph& graph, const EndPort& port, const LidOptions& options) {
  const std::uint8_t lmc = std::min(options.lmc, kMaxLmc);
  if (port.type != NodeType::switch_node) return lmc;
  return options.lmc_for_switches && graph.at(port.attached.sw).enhanced_port0 ? lmc : std::uint8_t{0};
}

// One attempt. Ports are numbered as in the graph.
class Assigner {
 public:
  Assigner(const Graph& graph, const LidOptions& options) : graph_(graph), ranges_(graph.end_ports().size()) {
    by_guid_.reserve(ranges_.size());
    for (std::uint32_t i = 0; i < ranges_.size(); ++i) {
      ranges_[i].lmc = wanted_lmc(graph, graph.end_ports()[i], options);
      by_guid_.push_back(i);
    }
    std::ranges::sort(by_guid_, {}, [&](std::uint32_t i) { return guid(i); });
  }

  void keep_earlier(const GuidToLid& earlier, bool with_absent) {
    for (const auto& [guid, range] : earlier) {
      const EndPortId id = graph_.find_end_port(guid);
      if (id == kNoEndPort) {
        const bool is_kept = with_absent && range.lmc <= kMaxLmc && space_.take(range);
        if (is_kept) absent_.emplace(guid, range);
      } else if (range.lmc >= ranges_[id.value].lmc) {
        take(id.value, range.base);
      }
    }
  }

  void keep_current() {
    for (const std::uint32_t i : by_guid_) {
      if (!has_lids(i)) take(i, graph_.end_ports()[i].base_lid);
    }
  }

  bool fill() {
    for (const std::uint32_t i : by_guid_) {
      if (has_lids(i)) continue;
      ranges_[i] = space_.take_lowest(ranges_[i].lmc);
      if (!has_lids(i)) return false;
    }
    return true;
  }

  LidAssignment result() {
    for (const std::uint32_t i : by_guid_) absent_.emplace(guid(i), ranges_[i]);
    return {std::move(ranges_), std::move(absent_)};
  }

 private:
  Guid guid(std::uint32_t i) const { return graph_.end_ports()[i].guid; }
  bool has_lids(std::uint32_t i) const { return !ranges_[i].base.is_reserved(); }
  void take(std::uint32_t i, Lid base) {
    if (space_.take({base, ranges_[i].lmc})) ranges_[i].base = base;
  }

  const Graph& graph_;
  LidSpace space_;
  std::vector<LidRange> ranges_;
  std::vector<std::uint32_t> by_guid_;
  GuidToLid absent_;
};

}  // namespace

Expected<LidAssignment, LidError> assign_lids(const Graph& graph, const LidOptions& options,
                                              const GuidToLid& earlier) {
  for (const bool with_absent : {true, false}) {
    Assigner assigner(graph, options);
    if (!options.reassign) {
      assigner.keep_earlier(earlier, with_absent);
      assigner.keep_current();
    }
    if (assigner.fill()) return assigner.result();
  }
  return Unexpected{LidError::space_full};
}

void apply_lids(Graph& graph, const LidAssignment& assignment) {
  const std::size_t ports = std::min(assignment.ranges.size(), graph.end_ports().size());
  for (std::uint32_t i = 0; i < ports; ++i) {
    const LidRange& range = assignment.ranges[i];
    // The ranges are legal by assign_lids; a port whose range is not keeps what it has.
    (void)graph.set_lids(EndPortId(i), range.base, range.lmc);
  }
}

}  // namespace softrnic::subnet
