// What ibv_query_device and ibv_query_port answer.
#include <cerrno>
#include <cstring>

#include "base/reason_id.h"
#include "device/lid.h"
#include "rnic/context.h"
#include "rnic/limits.h"
#include "rnic/refusal.h"

namespace softrnic::rnic {
namespace {

constexpr std::uint8_t kPhysicalLinkUp = 5;  // PortPhysicalState, IBTA table 155
constexpr std::uint8_t kPhysicalDisabled = 3;

/// Lane speeds and widths as PortInfo codes them (IBTA 14.2.5.6); the smallest that
/// carries the netdev's speed.
struct Rate {
  std::uint64_t mbps;
  std::uint8_t width;  // 1: 1x, 2: 4x
  std::uint8_t speed;  // 1: 2.5, 2: 5, 4: 10, 32: 25, 64: 50, 128: 100 Gb/s a lane
};
constexpr Rate kRates[] = {{2'500, 1, 1},    {5'000, 1, 2},    {10'000, 1, 4},
                           {25'000, 1, 32},  {40'000, 2, 4},   {50'000, 1, 64},
                           {100'000, 2, 32}, {200'000, 2, 64}, {400'000, 2, 128}};

/// Of netdevs that do not tell, as most without a wire: memory is that fast. Programs go by it: UCX reads the
/// peer's memory instead of copying from 43 KB on, and with 10 Gb/s from 342 KB on.
constexpr std::uint64_t kUnknownMbps = 100'000;

const Rate& rate_of(std::uint64_t mbps) {
  for (const Rate& rate : kRates) {
    if (mbps <= rate.mbps) return rate;
  }
  return kRates[std::size(kRates) - 1];
}

}  // namespace

ibv_mtu mtu_code(std::uint32_t bytes) {
  for (const ibv_mtu code : {IBV_MTU_4096, IBV_MTU_2048, IBV_MTU_1024, IBV_MTU_512}) {
    if (bytes >= mtu_bytes(code)) return code;
  }
  return IBV_MTU_256;
}

std::uint32_t mtu_bytes(ibv_mtu code) { return 128U << code; }

namespace {

// Common to all kinds.
ibv_device_attr common_attributes(const device::DeviceInfo& device) {
  ibv_device_attr a{};
  std::strncpy(a.fw_ver, "softrnic", sizeof a.fw_ver - 1);
  a.node_guid = a.sys_image_guid = __builtin_bswap64(device.guid);
  a.max_mr_size = limits::kMaxMrBytes;
  a.page_size_cap = 0xfffff000;  // any power of two from 4 KiB on: nothing is translated
  a.vendor_id = 0xffffff;        // no OUI of a vendor; programs take 0 for "unknown"
  a.max_qp = limits::kMaxQps;
  a.max_qp_wr = limits::kMaxQpWrs;
  a.device_cap_flags = IBV_DEVICE_CURR_QP_STATE_MOD | IBV_DEVICE_PORT_ACTIVE_EVENT |
                       IBV_DEVICE_SYS_IMAGE_GUID | IBV_DEVICE_SRQ_RESIZE | IBV_DEVICE_MEM_WINDOW |
                       IBV_DEVICE_MEM_WINDOW_TYPE_2B | IBV_DEVICE_MEM_MGT_EXTENSIONS;
  a.max_sge = a.max_sge_rd = a.max_srq_sge = limits::kMaxSges;
  a.max_cq = limits::kMaxCqs;
  a.max_cqe = limits::kMaxCqes;
  a.max_mr = limits::kMaxMrs;
  a.max_mw = limits::kMaxMws;
  a.max_pd = limits::kMaxPds;
  a.max_qp_rd_atom = a.max_qp_init_rd_atom = limits::kMaxReadsPerQp;
  a.max_res_rd_atom = static_cast<int>(limits::kMaxReadsPerQp * limits::kMaxQps);
  a.atomic_cap = IBV_ATOMIC_HCA;
  a.max_srq = limits::kMaxSrqs;
  a.max_srq_wr = limits::kMaxSrqWrs;
  a.max_pkeys = static_cast<std::uint16_t>(device::pkeys_of(device).size());
  a.phys_port_cnt = limits::kPorts;
  return a;
}

/// What the InfiniBand transport has besides.
void add_infiniband(ibv_device_attr& a) {
  a.device_cap_flags |= IBV_DEVICE_AUTO_PATH_MIG | IBV_DEVICE_RC_RNR_NAK_GEN | IBV_DEVICE_XRC |
                        IBV_DEVICE_MANAGED_FLOW_STEERING | IBV_DEVICE_RAW_IP_CSUM;
  a.max_mcast_grp = limits::kMaxMulticastGroups;
  a.max_mcast_qp_attach = limits::kMaxMulticastQps;
  a.max_total_mcast_qp_attach = limits::kMaxMulticastGroups * limits::kMaxMulticastQps;
  a.max_ah = limits::kMaxAhs;
  a.local_ca_ack_delay = 15;  // 4.096 us * 2^15 = 134 ms: a thread that waits for the CPU
}

/// What an InfiniBand port has from its cable and its subnet manager.
void add_link_layer(const device::InfinibandPort& from, ibv_port_attr& a) {
  a.state = static_cast<ibv_port_state>(from.state);
  a.port_cap_flags = from.capabilities;
  a.lid = from.lid.value;
  a.sm_lid = from.sm_lid.value;
  a.lmc = from.lmc;
  a.sm_sl = from.sm_sl;
  a.max_vl_num = from.data_vls;
  a.subnet_timeout = from.subnet_timeout;
  a.active_width = from.active_width;
  a.active_speed = from.active_speed;
  a.phys_state = from.physical_state;
}

}  // namespace

ibv_device_attr Context::device_attributes() const { return attributes_of(*info()); }

ibv_device_attr attributes_of(const device::DeviceInfo& device) {
  ibv_device_attr a = common_attributes(device);
  if (device::has_streams(device.kind)) {
    a.max_sge_rd = 1;  // RFC 5040 5.2.1
  } else {
    add_infiniband(a);
  }
  return a;
}

Expected<ibv_port_attr, Failure> Context::port_attributes(unsigned port) const {
  if (port != limits::kPorts) return refused(EINVAL, ReasonId::bad_port, port);
  return port_attributes_of(*info());
}

ibv_port_attr port_attributes_of(const device::DeviceInfo& device) {
  const device::PortInfo& from = device.port;
  const device::KindInfo& kind = device::info_of(device.kind);
  const Rate& rate = rate_of(from.speed_mbps != 0 ? from.speed_mbps : kUnknownMbps);
  ibv_port_attr a{};
  a.state = from.up ? IBV_PORT_ACTIVE : IBV_PORT_DOWN;
  a.max_mtu = IBV_MTU_4096;
  // TCP cuts the stream, so that it tells of the netdev alone.
  a.active_mtu = mtu_code(device::has_streams(device.kind) ? from.netdev_mtu : from.active_mtu);
  a.gid_tbl_len = static_cast<int>(from.gids.size());
  a.port_cap_flags = kind.port_cap_flags;
  a.max_msg_sz = limits::kMaxMessageBytes;
  a.pkey_tbl_len = static_cast<std::uint16_t>(device::pkeys_of(device).size());
  if (kind.transport == IBV_TRANSPORT_IB) a.lid = device::port_lid(from);
  a.max_vl_num = 1;
  a.active_width = rate.width;
  a.active_speed = rate.speed;
  a.phys_state = from.up ? kPhysicalLinkUp : kPhysicalDisabled;
  a.link_layer = kind.link_layer;
  a.flags = kind.port_query_flags;
  if (device::has_lids(device.kind)) add_link_layer(from.infiniband, a);
  return a;
}

Expected<std::uint64_t, Failure> Context::port_mbps(unsigned port) const {
  if (port != limits::kPorts) return refused(EINVAL, ReasonId::bad_port, port);
  const std::uint64_t told = info()->port.speed_mbps;
  return told != 0 ? told : kUnknownMbps;
}

}  // namespace softrnic::rnic
