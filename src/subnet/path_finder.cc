#include "subnet/path_finder.h"

#include <algorithm>
#include <iterator>

#include "subnet/vl_settings.h"

namespace softrnic::subnet {
namespace {

/// Switches that a path passes at most (opensm has the same).
constexpr unsigned kMostHops = 64;

}  // namespace

PathFinder::PathFinder(const SaView& view) : view_(view) {
  for (std::size_t i = 0; i < qos_.size(); ++i)
    qos_[i] = view.options.qos_config.options(static_cast<QosPort>(i));
}

std::optional<PathProperties> PathFinder::trace(NodePort source, Lid destination) const {
  const SubnetDatabase& database = view_.database;
  const NodePort end = database.port_of(destination);
  if (end.node == kNoNode) return std::nullopt;
  PathProperties path{mad::Mtu::b4096, mad::Rate::none, 0xffff};
  NodePort at = source;
  if (!database.subnet.at(source.node).is_switch()) {
    leave(at, path);
    if (at == end) return path;
    at = database.subnet.at(at).peer;
  }
  for (unsigned hops = 0; hops < kMostHops && at.node != kNoNode; ++hops) {
    if (at.port != 0) pass(at, path);
    if (at == end || (at.node == end.node && end.port == 0)) {
      if (at.port == 0) pass(at, path);
      return path;
    }
    const SwitchId sw = database.topology.switch_of(at.node);
    if (sw == kNoSwitch) return std::nullopt;
    const std::uint8_t out = database.routing.tables.at(sw).linear.port(destination);
    if (out == 0 || out >= database.subnet.at(at.node).ports.size()) return std::nullopt;
    leave({at.node, out}, path);
    at = database.subnet.at(NodePort{at.node, out}).peer;
  }
  return std::nullopt;
}

void PathFinder::pass(NodePort at, PathProperties& path) const {
  const mad::PortInfo& info = view_.database.subnet.at(at).info;
  path.mtu = std::min(path.mtu, info.mtu_cap);
  const mad::Rate rate = rate_of(info);
  if (rate != mad::Rate::none && (path.rate == mad::Rate::none || is_slower(rate, path.rate)))
    path.rate = rate;
}

void PathFinder::leave(NodePort at, PathProperties& path) const {
  pass(at, path);
  if (!view_.options.qos) return;
  const auto& subnet = view_.database.subnet;
  const SlToVl table = sl_to_vl(qos_[static_cast<std::size_t>(qos_port(subnet, at))],
                                static_cast<std::uint8_t>(subnet.at(at).info.operational_vls));
  for (std::size_t sl = 0; sl < table.size(); ++sl)
    if (table[sl] == kDropVl) path.service_levels &= static_cast<std::uint16_t>(~(1U << sl));
}

std::uint8_t PathFinder::service_level(std::uint16_t p_key) const {
  for (const Partition& partition : view_.options.partitions)
    if (((partition.number ^ p_key) & kPartitionMask) == 0) return partition.flags.sl;
  return 0;
}

mad::Rate next_rate(mad::Rate rate) {
  mad::Rate best = mad::Rate::none;
  for (std::size_t code = 0; code < std::size(mad::kRates); ++code) {
    const auto other = static_cast<mad::Rate>(code);
    if (is_slower(rate, other) && (best == mad::Rate::none || is_slower(other, best))) best = other;
  }
  return best;
}

mad::Rate previous_rate(mad::Rate rate) {
  mad::Rate best = mad::Rate::none;
  for (std::size_t code = 0; code < std::size(mad::kRates); ++code) {
    const auto other = static_cast<mad::Rate>(code);
    if (is_slower(other, rate) && is_slower(best, other)) best = other;
  }
  return best;
}

}  // namespace softrnic::subnet
