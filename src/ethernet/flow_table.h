// The flow rules of a port, and which of them a frame meets (ibv_create_flow(3)).
//
//   sniffer    sees every frame, whatever becomes of it, and those that leave
//   normal     in the order of their priority, lower numbers first, then of their creation. The first that
//              matches traps the frame, unless it says that it does not. Equal rules of one priority share
//              what they match: each gets a copy, as of one rule with several destinations.
//   default    get what no normal rule has trapped: groups only, or all
//
// A rule that drops traps too.
#pragma once

#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "ethernet/flow_match.h"
#include "ethernet/received_frame.h"

namespace softrnic::ethernet {

enum class RuleKind : std::uint8_t { normal, all_default, group_default, sniffer };

struct FlowRule {
  RuleKind kind = RuleKind::normal;
  bool dont_trap = false;
  bool drop = false;
  std::uint16_t priority = 0;
  std::uint32_t tag = 0;
  FlowMatch match;  ///< of normal rules; prepared
};

class FlowTable {
 public:
  /// `rule` stays the caller's, and unchanged while it is here.
  void add(FlowRule& rule);
  void remove(const FlowRule& rule);
  bool empty() const { return rules_.empty(); }
  bool any_of(RuleKind kind) const;
  template <typename Visit>
  void for_each(Visit&& visit) const {
    for (FlowRule* rule : rules_) visit(*rule);
  }

  /// Calls take(rule) for each rule that `frame` goes to, those that drop it included. `leaves`: it is on its
  /// way out, and only sniffers see it.
  template <typename Take>
  void classify(const ParsedFrame& frame, bool leaves, Take&& take) const {
    bool trapped = leaves;
    for (std::size_t i = 0; i < rules_.size(); ++i) {
      FlowRule& rule = *rules_[i];
      if (rule.kind == RuleKind::sniffer) {
        take(rule);
      } else if (rule.kind == RuleKind::normal) {
        if (trapped || !rule.match.matches(frame)) continue;
        trapped = give_to_equals(i, take);
      } else if (!trapped && (rule.kind == RuleKind::all_default || is_to_group(frame))) {
        take(rule);
      }
    }
  }

 private:
  static bool is_to_group(const ParsedFrame& frame) {
    return frame.has(kEthernet) && is_group(frame.key.stack[0].destination_mac.data());
  }
  bool are_equal(const FlowRule& a, const FlowRule& b) const;
  /// Whether the rule at `index` stands behind an equal one, with which it was served.
  bool is_served(std::size_t index) const;

  /// The rule at `index` and those equal to it behind it. Whether one of them traps.
  template <typename Take>
  bool give_to_equals(std::size_t index, Take&& take) const {
    if (is_served(index)) return false;
    bool traps = false;
    for (std::size_t i = index; i < rules_.size(); ++i) {
      if (i != index && !are_equal(*rules_[index], *rules_[i])) continue;
      take(*rules_[i]);
      traps = traps || !rules_[i]->dont_trap;
    }
    return traps;
  }

  std::vector<FlowRule*> rules_;  ///< sniffers, then normal ones by priority, then defaults
};

}  // namespace softrnic::ethernet
