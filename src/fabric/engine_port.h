// One port of a node: what the subnet manager has set, what it receives into, and what it sends from.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "fabric/bid.h"
#include "fabric/credit.h"
#include "fabric/input_buffer.h"
#include "fabric/link.h"
#include "fabric/partition_table.h"
#include "fabric/port_counters.h"
#include "fabric/types.h"
#include "fabric/vl_arbiter.h"

namespace softrnic::fabric {

/// Where a packet goes that leaves the port.
enum class PortKind : std::uint8_t {
  external,  ///< a cable
  internal,  ///< port 0 of a switch, where its agents are; of an adapter, where a port meets its host
  remote,    ///< nowhere: it stands for the far end of a cable that leaves the engine
};

/// What PortInfo says that packets feel (IBTA 14.2.5.6).
struct PortAttributes {
  std::uint16_t neighbor_mtu = kMaxMtu;     ///< bytes
  std::uint8_t operational_vls = kDataVls;  ///< data VLs: 1, 2, 4, 8 or 15
  std::uint8_t hoq_life = kNoLifetime;
  std::uint8_t vl_stall_count = 0;  ///< drops in a row that stall a VL; 0: none does
  bool enforce_partitions_in = false;
  bool enforce_partitions_out = false;
  bool filter_raw_in = false;
  bool filter_raw_out = false;
  wire::Lid lid;         ///< of an adapter's port; 0: every DLID is accepted
  std::uint8_t lmc = 0;  ///< low bits of the LID that are anything
};

/// VL by SL. VL15: packets of this SL are dropped (IBTA 7.6.6).
using SlToVl = std::array<std::uint8_t, 16>;
/// Until a subnet manager sets it: SL modulo the operational VLs.
inline constexpr std::uint8_t kUnsetVl = 0xff;

/// Which packets a state lets pass, besides flow control (IBTA 7.2).
struct Passage {
  bool receives_management;
  bool sends_management;
  bool receives_data;
  bool sends_data;
};
Passage passage_of(PortState state);

/// The sending side of one VL.
struct OutputVl {
  BidQueue bids;
  TimePoint stalled_until{};
  TimePoint waiting_since = kNever;  ///< of the first of the bids
  TimePoint sent_until{};            ///< the last packet of this VL
  CreditSender credit;
  std::uint8_t drops_in_row = 0;  ///< by the head-of-queue lifetime
};

struct EnginePort {
  // what it is
  PortId id;
  NodeId node;
  std::uint8_t number = 0;
  PortKind kind = PortKind::external;
  EnginePort* internal = nullptr;  ///< where packets for this node, or for the host of this port, go
  EnginePort* external = nullptr;  ///< internal, of an adapter: the port with the cable
  EnginePort* peer = nullptr;      ///< the other end of the cable
  Link* link = nullptr;

  // what was set
  bool enabled = true;
  PortState state = PortState::down;
  PortAttributes attributes;
  VlMask operational = 0x7fff;
  Duration hoq_life = Duration::max();
  std::vector<SlToVl> sl_to_vl;  ///< by the number of the input port; of adapters one
  PartitionTable partitions;
  VlArbiter arbiter;

  // receiving
  std::array<InputBuffer, kVls> in;

  // sending
  std::array<OutputVl, kVls> out;
  VlMask ready = 0;  ///< have a bid, and the credits for it
  std::uint32_t bids = 0;
  TimePoint busy_until{};
  TimePoint waiting_since = kNever;     ///< of the first of the bids
  TimePoint lifetime_look = kNever;     ///< when bids are looked at next for their deadlines
  std::uint64_t rate_remainder = 0;     ///< of the last division by the rate
  bool wakes_when_idle = false;         ///< an event at busy_until is set
  bool held = false;                    ///< internal: the host takes no more for now
  VlMask owed_flow_control = 0;         ///< VLs whose counters the peer should hear
  VlMask unheard_flow_control = 0;      ///< whose counters, or packets, it did not
  bool refreshes_flow_control = false;  ///< an event for them is set
  VlMask refused = 0;                   ///< internal: VLs for whose room somebody waits
  std::uint32_t under_way = 0;          ///< packets, flow control included, that have not arrived
  bool in_ready_list = false;
  EnginePort* next_ready = nullptr;

  PortCounters counters;

  bool is_external() const { return kind == PortKind::external; }
  bool is_remote() const { return kind == PortKind::remote; }
  /// The operational VL of an SL for packets from that port; nothing: they are dropped.
  std::optional<std::uint8_t> map_vl(std::uint8_t from, std::uint8_t sl) const;
  /// The DLID is that of this adapter's port.
  bool owns(wire::Lid dlid) const;
  /// The VL that sends next; see VlArbiter::choose(). A port with one data VL needs no arbitration.
  std::optional<std::uint8_t> choose_vl();
  /// The VL that was chosen sends so many blocks.
  void count_sent(std::uint8_t vl, std::uint16_t blocks);
  /// It sends so many bytes from `now` on.
  void occupy(TimePoint now, std::size_t bytes, const Rate& rate);
  void set_attributes(const PortAttributes& wanted);
  /// The wait that is not counted yet.
  Duration open_wait(TimePoint now) const {
    return waiting_since == kNever ? Duration(0)
                                   : std::max(Duration(0), now - std::max(waiting_since, busy_until));
  }
  /// Counts the wait up to `now`, where the port has waited for something.
  void count_wait(TimePoint now);
  /// The same of one VL, which waits while others send, too; it waits on if it has a bid.
  void count_wait(TimePoint now, std::uint8_t vl);
  void begin_wait(TimePoint now) { waiting_since = bids > 0 ? now : kNever; }
};

}  // namespace softrnic::fabric
