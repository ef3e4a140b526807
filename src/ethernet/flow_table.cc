#include "ethernet/flow_table.h"

#include <algorithm>
#include <tuple>

namespace softrnic::ethernet {
namespace {

std::tuple<int, std::uint16_t> order_of(const FlowRule& rule) {
  switch (rule.kind) {
    case RuleKind::sniffer:
      return {0, 0};
    case RuleKind::normal:
      return {1, rule.priority};
    case RuleKind::all_default:
    case RuleKind::group_default:
      break;
  }
  return {2, 0};
}

}  // namespace

void FlowTable::add(FlowRule& rule) {
  const auto behind =
      std::upper_bound(rules_.begin(), rules_.end(), order_of(rule),
                       [](const auto& order, const FlowRule* there) { return order < order_of(*there); });
  rules_.insert(behind, &rule);
}

void FlowTable::remove(const FlowRule& rule) { std::erase(rules_, &rule); }

bool FlowTable::any_of(RuleKind kind) const {
  return std::any_of(rules_.begin(), rules_.end(), [&](const FlowRule* rule) { return rule->kind == kind; });
}

bool FlowTable::are_equal(const FlowRule& a, const FlowRule& b) const {
  return a.kind == b.kind && a.priority == b.priority && a.match == b.match;
}

bool FlowTable::is_served(std::size_t index) const {
  return std::any_of(rules_.begin(), rules_.begin() + static_cast<std::ptrdiff_t>(index),
                     [&](const FlowRule* rule) { return are_equal(*rule, *rules_[index]); });
}

}  // namespace softrnic::ethernet
