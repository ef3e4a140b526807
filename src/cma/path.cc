#include "cma/path.h"

#include <algorithm>

#include "rnic/limits.h"

namespace softrnic::cma {
namespace {

/// Linux had this for RoCE until version 6. It is generous: many programs connect with a retry count of 0.
constexpr std::uint8_t kPacketLifeTime = 18;
constexpr std::uint8_t kMostTimeout = 31;
constexpr std::uint32_t kFlowLabelMask = 0xfffff;
constexpr std::uint8_t kPathBits = 0x7f;  ///< the most that an LMC leaves (IBTA 4.1.3)

struct Rate {
  std::uint64_t mbps;
  ibv_rate code;
};
constexpr Rate kRates[] = {{200'000, IBV_RATE_200_GBPS}, {100'000, IBV_RATE_100_GBPS},
                           {40'000, IBV_RATE_40_GBPS},   {30'000, IBV_RATE_30_GBPS},
                           {20'000, IBV_RATE_20_GBPS},   {10'000, IBV_RATE_10_GBPS}};

/// Spreads connections over the paths of a network: the flow label chooses the UDP source port. What the
/// program asked for in an IPv6 address counts.
std::uint32_t flow_label_of(const Id& id) {
  const std::uint32_t wanted = id.destination.flow_info & kFlowLabelMask;
  if (wanted != 0) return wanted;
  return (std::uint32_t{id.source.port} * 31 + id.destination.port) & kFlowLabelMask;
}

}  // namespace

std::uint8_t mtu_code(std::uint32_t bytes) {
  for (const ibv_mtu code : {IBV_MTU_4096, IBV_MTU_2048, IBV_MTU_1024, IBV_MTU_512})
    if (bytes >= (128U << code)) return static_cast<std::uint8_t>(code);
  return IBV_MTU_256;
}

std::uint8_t rate_code(std::uint64_t mbps) {
  for (const Rate& rate : kRates)
    if (mbps >= rate.mbps) return static_cast<std::uint8_t>(rate.code);
  return 0;
}

std::uint8_t ack_timeout_code(std::uint8_t ack_delay, std::uint8_t packet_life_time) {
  // 2 · 2^life + 2^delay, rounded up to a power of two unless one of the two hardly counts
  const int round_trip = packet_life_time + 1;
  const int sum = round_trip >= ack_delay ? round_trip + (ack_delay >= round_trip - 1 ? 1 : 0)
                                          : ack_delay + (round_trip >= ack_delay - 1 ? 1 : 0);
  return static_cast<std::uint8_t>(std::min<int>(sum, kMostTimeout));
}

std::uint8_t packet_life_time_of(const Id& id) {
  if (!id.qp_timeout) return kPacketLifeTime;
  return static_cast<std::uint8_t>(std::max(*id.qp_timeout, std::uint8_t{1}) - 1);
}

cm::Path make_path(const Id& id, const device::PortInfo& port, std::uint8_t packet_life_time) {
  cm::Path path;
  path.local = id.binding.gid;
  path.remote = id.destination_gid;
  path.interface_index = id.binding.interface_index;
  path.mtu = mtu_code(port.active_mtu);
  path.rate = rate_code(port.speed_mbps);
  path.flow_label = flow_label_of(id);
  path.traffic_class = id.tos;
  path.hop_limit = id.hop_limit;
  path.ack_timeout = id.qp_timeout.value_or(ack_timeout_code(kOwnAckDelay, packet_life_time));
  return path;
}

AddressVector address_vector(const cm::Path& path, std::uint8_t gid_index) {
  AddressVector vector;
  vector.gid = path.remote;
  vector.flow_label = path.flow_label;
  vector.sgid_index = gid_index;
  vector.hop_limit = path.hop_limit;
  vector.traffic_class = path.traffic_class;
  vector.sl = path.sl;
  if (!path.is_infiniband()) return vector;
  vector.is_global = !path.is_subnet_local();
  vector.dlid = path.remote_lid;
  vector.source_path_bits = path.local_lid.value & kPathBits;
  vector.static_rate = path.rate;
  return vector;
}

}  // namespace softrnic::cma
