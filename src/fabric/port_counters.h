// What a port counts. 64 bits here; the PMA saturates them to the widths of its attributes (IBTA 16.1.3).
#pragma once

#include <array>
#include <cstdint>

#include "base/time.h"
#include "fabric/types.h"

namespace softrnic::fabric {

/// Data are words of 4 bytes from the LRH to the ICRC, of all VLs, without flow control packets.
struct PortCounters {
  std::uint64_t xmit_data = 0;
  std::uint64_t rcv_data = 0;
  std::uint64_t unicast_xmit_packets = 0;
  std::uint64_t unicast_rcv_packets = 0;
  std::uint64_t multicast_xmit_packets = 0;
  std::uint64_t multicast_rcv_packets = 0;
  /// Time in which packets waited and none was sent. The PMA divides by its tick.
  Duration xmit_wait{0};
  std::array<Duration, kVls>
      xmit_wait_by_vl{};                ///< in which packets of the VL waited and none of it was sent
  std::uint64_t xmit_flow_control = 0;  ///< flow control packets
  std::uint64_t rcv_flow_control = 0;

  std::uint64_t symbol_errors = 0;
  std::uint64_t link_downed = 0;
  std::uint64_t vl15_dropped = 0;
  std::uint64_t xmit_constraint_errors = 0;  ///< P_Key or raw filter, outbound
  std::uint64_t rcv_constraint_errors = 0;   ///< inbound
  /// Packets that an earlier hop has marked as bad. Switches store a packet before they forward it, and so
  /// none does.
  std::uint64_t rcv_remote_physical_errors = 0;

  // PortRcvErrorDetails (IBTA 16.1.4.2)
  std::uint64_t local_physical_errors = 0;
  std::uint64_t malformed_packet_errors = 0;  ///< a VL that is not operational
  std::uint64_t buffer_overrun_errors = 0;
  std::uint64_t dlid_mapping_errors = 0;  ///< no way leads to the DLID; of an adapter: it is another's
  std::uint64_t vl_mapping_errors = 0;
  std::uint64_t looping_errors = 0;  ///< would leave where it came in

  // PortXmitDiscardDetails (IBTA 16.1.4.3)
  std::uint64_t inactive_discards = 0;
  std::uint64_t neighbor_mtu_discards = 0;
  std::uint64_t switch_lifetime_discards = 0;
  std::uint64_t hoq_lifetime_discards = 0;
  std::uint64_t no_memory_discards = 0;  ///< copies of multicast packets beyond Limits

  std::array<std::uint64_t, 16> xmit_data_by_sl{};  ///< PortXmitDataSL, PortRcvDataSL
  std::array<std::uint64_t, 16> rcv_data_by_sl{};
  std::array<std::uint64_t, kVls> xmit_packets_by_vl{};

  std::uint64_t xmit_packets() const { return unicast_xmit_packets + multicast_xmit_packets; }
  std::uint64_t rcv_packets() const { return unicast_rcv_packets + multicast_rcv_packets; }
  std::uint64_t rcv_errors() const {
    return local_physical_errors + malformed_packet_errors + buffer_overrun_errors;
  }
  std::uint64_t rcv_switch_relay_errors() const {
    return dlid_mapping_errors + vl_mapping_errors + looping_errors;
  }
  std::uint64_t xmit_discards() const {
    return inactive_discards + neighbor_mtu_discards + switch_lifetime_discards + hoq_lifetime_discards +
           no_memory_discards;
  }
};

}  // namespace softrnic::fabric
