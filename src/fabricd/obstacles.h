// What can stand in the way of packets between two ports: what each of these is called, and where it is.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"
#include "fabric/deadlock.h"
#include "fabricd/fabric_state.h"

namespace softrnic::fabricd {

enum class ObstacleKind : std::uint8_t {
  no_cable,
  cable_pulled,
  port_disabled,
  port_not_active,
  no_lid,
  no_way,              ///< of links that are up
  no_entry,            ///< of the linear forwarding table
  no_such_port,        ///< an entry names it
  turns_back,          ///< an entry names the port where the packet came in
  loop,                ///< entries lead in a circle
  wrong_port,          ///< entries lead to another port
  sl_dropped,          ///< the SL maps to VL15
  vl_not_operational,  ///< it maps to a VL that the port does not have
  vl_not_taken,        ///< ... that the other end of the cable does not have
  vl_without_weight,   ///< arbitration never chooses the VL
  p_key_missing,       ///< a port is not in the partition that was asked for
  no_partition,        ///< there is none that both are in
  limited_members,     ///< both are limited ones
  p_key_refused,       ///< a switch enforces it
  p_key_index,         ///< what programs use by default is not the partition they share
  mtu,
  credits_stuck,
  congestion,
  credit_deadlock,
  link_errors,
  host_holds,  ///< its programs take nothing
};

struct ObstacleRow {
  ObstacleKind kind;
  std::string_view id;  ///< in JSON
  bool blocks;          ///< nothing gets through; else it hinders
};
inline constexpr std::array kObstacles = {
    ObstacleRow{ObstacleKind::no_cable, "no_cable", true},
    ObstacleRow{ObstacleKind::cable_pulled, "cable_pulled", true},
    ObstacleRow{ObstacleKind::port_disabled, "port_disabled", true},
    ObstacleRow{ObstacleKind::port_not_active, "port_not_active", true},
    ObstacleRow{ObstacleKind::no_lid, "no_lid", true},
    ObstacleRow{ObstacleKind::no_way, "no_way", true},
    ObstacleRow{ObstacleKind::no_entry, "no_entry", true},
    ObstacleRow{ObstacleKind::no_such_port, "no_such_port", true},
    ObstacleRow{ObstacleKind::turns_back, "turns_back", true},
    ObstacleRow{ObstacleKind::loop, "loop", true},
    ObstacleRow{ObstacleKind::wrong_port, "wrong_port", true},
    ObstacleRow{ObstacleKind::sl_dropped, "sl_dropped", true},
    ObstacleRow{ObstacleKind::vl_not_operational, "vl_not_operational", true},
    ObstacleRow{ObstacleKind::vl_not_taken, "vl_not_taken", true},
    ObstacleRow{ObstacleKind::vl_without_weight, "vl_without_weight", true},
    ObstacleRow{ObstacleKind::p_key_missing, "p_key_missing", true},
    ObstacleRow{ObstacleKind::no_partition, "no_partition", true},
    ObstacleRow{ObstacleKind::limited_members, "limited_members", true},
    ObstacleRow{ObstacleKind::p_key_refused, "p_key_refused", true},
    ObstacleRow{ObstacleKind::p_key_index, "p_key_index", false},
    ObstacleRow{ObstacleKind::mtu, "mtu", false},
    ObstacleRow{ObstacleKind::credits_stuck, "credits_stuck", true},
    ObstacleRow{ObstacleKind::congestion, "congestion", false},
    ObstacleRow{ObstacleKind::credit_deadlock, "credit_deadlock", true},
    ObstacleRow{ObstacleKind::link_errors, "link_errors", false},
    ObstacleRow{ObstacleKind::host_holds, "host_holds", false},
};
constexpr const ObstacleRow& row_of(ObstacleKind kind) { return kObstacles[static_cast<std::size_t>(kind)]; }

/// One of them. What a kind does not need stays as it is here.
struct Obstacle {
  ObstacleKind kind{};
  fabric::PortAddress at{};
  std::optional<fabric::PortAddress> peer{};  ///< the other end of the cable, or the other of two ports
  std::uint8_t in_port = 0;
  std::uint8_t sl = 0;
  std::uint8_t vl = 0;
  wire::Lid lid{};
  std::uint16_t p_key = 0;
  std::uint32_t bytes = 0;  ///< of the MTU
  double part = 0;          ///< of packets that are damaged
  Duration waited{0};
  std::vector<fabric::CreditWait> cycle{};

  /// Nothing gets through; a link that damages all is as good as none.
  bool blocks() const { return row_of(kind).blocks || part >= 1; }
};

/// In the order they were found; one that is there already is left out.
class Obstacles {
 public:
  void add(Obstacle obstacle);
  /// The cause of others.
  void add_first(Obstacle obstacle) { list_.insert(list_.begin(), std::move(obstacle)); }
  /// Of a cable: the same at both of its ends.
  void add_of_cable(Obstacle obstacle);

  bool any_blocks() const;
  bool has(ObstacleKind kind) const;
  const std::vector<Obstacle>& list() const { return list_; }

 private:
  std::vector<Obstacle> list_;
};

}  // namespace softrnic::fabricd
