// All that an administrator may tell the subnet manager; names and initial values are those of opensm.conf.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/time.h"
#include "mad/guid.h"
#include "subnet/discovery.h"
#include "subnet/lid_assignment.h"
#include "subnet/partitions.h"
#include "subnet/qos.h"
#include "subnet/smp_requests.h"

namespace softrnic::subnet {

/// What ports and switches are set to.
struct PortOptions {
  std::uint64_t subnet_prefix = mad::kDefaultSubnetPrefix;
  std::uint64_t m_key = 0;
  std::uint16_t m_key_lease_period = 0;  ///< seconds; 0: without end
  std::uint8_t m_key_protect_bits = 0;
  std::uint8_t sm_sl = 0;
  // 5-bit codes: 4.096 µs · 2^code
  std::uint8_t subnet_timeout = 18;
  std::uint8_t packet_life_time = 18;  ///< of a switch
  std::uint8_t head_of_queue_lifetime = 18;
  std::uint8_t leaf_head_of_queue_lifetime = 16;  ///< towards adapters and routers
  std::uint8_t vl_stall_count = 7;
  std::uint8_t leaf_vl_stall_count = 7;
  std::uint8_t local_phy_errors_threshold = 8;
  std::uint8_t overrun_errors_threshold = 8;
  bool client_reregistration = true;
  /// Switches check the P_Keys of what goes to and comes from adapters, where they can (opensm:
  /// part_enforce).
  bool partition_enforcement = true;
};

struct RoutingEngineOptions {
  std::string engine = "minhop";  ///< see routing_engine.h
  std::vector<Guid> root_guids;   ///< updn
  bool connect_roots = false;     ///< updn
};

struct ManagerOptions {
  SmpRequestOptions requests;
  std::size_t most_nodes = DiscoveryOptions{}.most_nodes;
  std::size_t most_ports = DiscoveryOptions{}.most_ports;

  std::uint8_t priority = 0;  ///< 0 to 15
  std::uint64_t sm_key = 1;
  std::uint64_t sa_key = 1;  ///< of requests to the subnet administrator that are trusted
  Duration sweep_interval = std::chrono::seconds(10);         ///< of light sweeps; 0: none
  Duration heavy_sweep_gap = std::chrono::milliseconds(100);  ///< between two heavy ones, whatever happens
  Duration polling_interval = std::chrono::seconds(10);       ///< opensm: sminfo_polling_timeout
  unsigned polling_retries = 4;                               ///< opensm: polling_retry_number

  LidOptions lids;
  PortOptions ports;
  RoutingEngineOptions routing;
  bool qos = false;
  QosConfig qos_config;
  std::vector<Partition> partitions = default_partitions();
  bool allow_both_pkeys = false;
};

}  // namespace softrnic::subnet
