#include "subnet/group_limits.h"

#include "mad/component_mask.h"
#include "subnet/path_finder.h"
#include "subnet/subnet_graph.h"

namespace softrnic::subnet {
namespace {

using mad::McMemberRecord;
using mad::Selector;

constexpr std::uint64_t kGroupMtu =
    mad::component<McMemberRecord>("mtu") | mad::component<McMemberRecord>("mtu_selector");
constexpr std::uint64_t kGroupRate =
    mad::component<McMemberRecord>("rate") | mad::component<McMemberRecord>("rate_selector");
constexpr std::uint64_t kGroupLifeTime = mad::component<McMemberRecord>("packet_life_time") |
                                         mad::component<McMemberRecord>("packet_life_time_selector");

bool has(std::uint64_t mask, std::uint64_t components) { return (mask & components) == components; }
bool is_mtu(mad::Mtu mtu) { return mad::bytes_of(mtu) != 0; }
bool is_rate(mad::Rate rate) { return mad::data_rate(rate) != 0; }

mad::Mtu realize_mtu(Selector selector, mad::Mtu asked, mad::Mtu port) {
  switch (selector) {
    case Selector::greater_than:
      return asked < port ? port : mad::Mtu::none;
    case Selector::less_than:
      return asked > port ? port : static_cast<mad::Mtu>(static_cast<std::uint8_t>(asked) - 1);
    case Selector::exactly:
      return asked;
    case Selector::best:
      return port;
  }
  return mad::Mtu::none;
}

mad::Rate realize_rate(Selector selector, mad::Rate asked, mad::Rate port) {
  switch (selector) {
    case Selector::greater_than:
      return is_slower(asked, port) ? port : mad::Rate::none;
    case Selector::less_than:
      return is_slower(port, asked) ? port : previous_rate(asked);
    case Selector::exactly:
      return asked;
    case Selector::best:
      return port;
  }
  return mad::Rate::none;
}

}  // namespace

bool agrees_in_limits(const McMemberRecord& asked, std::uint64_t mask, const McMemberRecord& group) {
  const bool mtu =
      !has(mask, kGroupMtu) || mad::satisfies(asked.mtu_selector, static_cast<std::uint8_t>(asked.mtu),
                                              static_cast<std::uint8_t>(group.mtu));
  const bool rate = !has(mask, kGroupRate) || mad::satisfies(asked.rate_selector, mad::data_rate(asked.rate),
                                                             mad::data_rate(group.rate));
  return mtu && rate;
}

bool can_receive(const mad::PortInfo& port, const McMemberRecord& group) {
  return port.neighbor_mtu >= group.mtu && !is_slower(rate_of(port), group.rate);
}

std::optional<McMemberRecord> realize_limits(const McMemberRecord& asked, std::uint64_t mask,
                                             const mad::PortInfo& port, std::uint8_t life_time) {
  McMemberRecord made = asked;
  made.mtu = has(mask, kGroupMtu) ? realize_mtu(asked.mtu_selector, asked.mtu, port.neighbor_mtu)
                                  : port.neighbor_mtu;
  made.rate =
      has(mask, kGroupRate) ? realize_rate(asked.rate_selector, asked.rate, rate_of(port)) : rate_of(port);
  if (!has(mask, kGroupLifeTime)) made.packet_life_time = life_time;
  made.mtu_selector = made.rate_selector = made.packet_life_time_selector = Selector::exactly;
  const bool is_known = !has(mask, kGroupMtu) || asked.mtu_selector == Selector::best || is_mtu(asked.mtu);
  if (!is_known || !is_mtu(made.mtu) || !is_rate(made.rate)) return std::nullopt;
  return made;
}

}  // namespace softrnic::subnet
