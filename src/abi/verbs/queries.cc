// What devices and ports say of themselves.
#include "abi/verbs/queries.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "abi/calls.h"
#include "abi/export.h"
#include "abi/verbs/newer_verbs.h"
#include "abi/verbs/open_device.h"
#include "abi/verbs/work_queues.h"
#include "base/reason_id.h"
#include "rnic/limits.h"
#include "rnic/on_demand_memory.h"

// A macro around the inline call; what is exported is the function.
#undef ibv_query_port

namespace softrnic::abi {
namespace {

constexpr std::uint64_t kCoreClockKhz = 1'000'000;  ///< completion timestamps are nanoseconds

/// Copies as much of `from` as there is room for and zeroes the rest of the room.
template <typename T>
void copy_sized(void* to, std::size_t size, const T& from) {
  std::memset(to, 0, size);
  std::memcpy(to, &from, std::min(size, sizeof from));
}

constexpr std::uint32_t kLimitedTypes = 1U << IBV_QPT_RC | 1U << IBV_QPT_UC | 1U << IBV_QPT_UD |
                                        1U << IBV_QPT_XRC_SEND | 1U << IBV_QPT_RAW_PACKET;

constexpr std::uint32_t kOdpDatagram = IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV;
constexpr std::uint32_t kOdpUnreliable = kOdpDatagram | IBV_ODP_SUPPORT_WRITE;
constexpr std::uint32_t kOdpReliable =
    kOdpUnreliable | IBV_ODP_SUPPORT_READ | IBV_ODP_SUPPORT_ATOMIC | IBV_ODP_SUPPORT_SRQ_RECV;

// Of enum ib_uverbs_device_cap_flags; Debian 12's header ends before them.
constexpr std::uint64_t kFlushGlobal = std::uint64_t{1} << 38;
constexpr std::uint64_t kAtomicWrite = std::uint64_t{1} << 40;

void add_on_demand_paging(ibv_device_attr_ex& attributes, bool infiniband) {
  if (!rnic::OnDemandMemory::supported()) return;
  ibv_odp_caps& odp = attributes.odp_caps;
  odp.general_caps = IBV_ODP_SUPPORT | IBV_ODP_SUPPORT_IMPLICIT;
  odp.per_transport_caps.rc_odp_caps = kOdpReliable;
  if (!infiniband) return;
  attributes.xrc_odp_caps = kOdpReliable;
  odp.per_transport_caps.uc_odp_caps = kOdpUnreliable | IBV_ODP_SUPPORT_SRQ_RECV;
  odp.per_transport_caps.ud_odp_caps = kOdpDatagram | IBV_ODP_SUPPORT_SRQ_RECV;
}

constexpr ibv_tm_caps kTagMatching{.max_rndv_hdr_size = rnic::limits::kMaxRendezvousHeader,
                                   .max_num_tags = rnic::limits::kMaxTags,
                                   .flags = IBV_TM_CAP_RC,
                                   .max_ops = rnic::limits::kMaxTagOperations,
                                   .max_sge = rnic::limits::kMaxTagSges};

/// What queue pairs have besides that go by packets.
void add_packets(ibv_device_attr_ex& attributes) {
  attributes.device_cap_flags_ex |= kFlushGlobal | kAtomicWrite;
  attributes.packet_pacing_caps = {rnic::limits::kMinRateLimit, rnic::limits::kMaxRateLimit, kLimitedTypes};
  attributes.tm_caps = kTagMatching;
  attributes.raw_packet_caps = IBV_RAW_PACKET_CAP_CVLAN_STRIPPING | IBV_RAW_PACKET_CAP_IP_CSUM;
  attributes.tso_caps = {rnic::limits::kMaxTsoBytes, 1U << IBV_QPT_RAW_PACKET};
  attributes.max_wq_type_rq = rnic::limits::kMaxWorkQueues;
  attributes.rss_caps = {.supported_qpts = 1U << IBV_QPT_RAW_PACKET,
                         .max_rwq_indirection_tables = rnic::limits::kMaxIndirectionTables,
                         .max_rwq_indirection_table_size = 1U << rnic::IndirectionTable::kMaxLogSize,
                         .rx_hash_fields_mask = kHashFields,
                         .rx_hash_function = IBV_RX_HASH_FUNC_TOEPLITZ};
}

ibv_device_attr_ex extended_attributes(const rnic::Context& context) {
  ibv_device_attr_ex attributes{};
  attributes.orig_attr = context.device_attributes();
  attributes.device_cap_flags_ex = attributes.orig_attr.device_cap_flags;
  attributes.phys_port_cnt_ex = attributes.orig_attr.phys_port_cnt;
  attributes.completion_timestamp_mask = UINT64_MAX;
  attributes.hca_core_clock = kCoreClockKhz;
  attributes.max_dm_size = rnic::limits::kDeviceMemoryBytes;
  attributes.cq_mod_caps = {rnic::limits::kMaxModerationCount, rnic::limits::kMaxModerationPeriod};
  add_on_demand_paging(attributes, !context.has_streams());
  if (!context.has_streams()) add_packets(attributes);
  return attributes;
}

/// Struct ibv_port_attr of programs built before port_cap_flags2: it ends after `flags`.
constexpr std::size_t kOldPortBytes = 48;
static_assert(offsetof(ibv_port_attr, port_cap_flags2) == kOldPortBytes);
/// Where programs built since active_speed_ex have that: active_speed once more, with 32 bits.
constexpr std::size_t kSpeedExAt = offsetof(PortAttr, active_speed_ex);

}  // namespace

int query_port(ibv_context* context, std::uint8_t port, ibv_port_attr* attributes, std::size_t size) {
  return errno_call([&]() -> Expected<void, Failure> {
    if (context == nullptr || attributes == nullptr) return null_argument();
    const auto found = Context::of(context)->opened->context().port_attributes(port);
    if (!found) return Unexpected{found.error()};
    copy_sized(attributes, size, *found);
    const std::uint32_t speed = found->active_speed;
    if (size >= kSpeedExAt + sizeof speed)
      std::memcpy(reinterpret_cast<std::byte*>(attributes) + kSpeedExAt, &speed, sizeof speed);
    return {};
  });
}

int query_device_ex(ibv_context* context, const ibv_query_device_ex_input* input,
                    ibv_device_attr_ex* attributes, std::size_t size) {
  return errno_call([&]() -> Expected<void, Failure> {
    if (context == nullptr || attributes == nullptr) return null_argument();
    if (input != nullptr && input->comp_mask != 0)
      return rnic::refused(EINVAL, ReasonId::bad_comp_mask, input->comp_mask);
    if (size < sizeof(ibv_device_attr))
      return rnic::refused(EINVAL, ReasonId::bad_length, size, sizeof *attributes);
    copy_sized(attributes, size, extended_attributes(Context::of(context)->opened->context()));
    return {};
  });
}

}  // namespace softrnic::abi

using namespace softrnic;
using namespace softrnic::abi;

SOFTRNIC_VERB(int, ibv_query_device, (ibv_context * context, ibv_device_attr* attributes)) {
  return errno_call([&]() -> Expected<void, Failure> {
    if (context == nullptr || attributes == nullptr) return null_argument();
    *attributes = Context::of(context)->opened->context().device_attributes();
    return {};
  });
}

SOFTRNIC_VERB(int, ibv_query_port, (ibv_context * context, uint8_t port, _compat_ibv_port_attr* attributes)) {
  return query_port(context, port, reinterpret_cast<ibv_port_attr*>(attributes), kOldPortBytes);
}

SOFTRNIC_VERSIONED(int, ibv_query_port_speed, "IBVERBS_1.16",
                   (ibv_context * context, uint32_t port, uint64_t* speed)) {
  return errno_call([&]() -> Expected<void, Failure> {
    if (context == nullptr || speed == nullptr) return null_argument();
    const auto mbps = Context::of(context)->opened->context().port_mbps(port);
    if (!mbps) return Unexpected{mbps.error()};
    *speed = std::max<std::uint64_t>(*mbps / 100, 1);
    return {};
  });
}

SOFTRNIC_VERB(int, ibv_query_pkey, (ibv_context * context, uint8_t port, int index, __be16* pkey)) {
  return minus_one_call([&]() -> Expected<void, Failure> {
    if (context == nullptr || pkey == nullptr) return null_argument();
    const auto found = Context::of(context)->opened->context().pkey(port, index);
    if (!found) return Unexpected{found.error()};
    *pkey = __builtin_bswap16(*found);
    return {};
  });
}

SOFTRNIC_EXPORT int ibv_get_pkey_index(ibv_context* context, uint8_t port, __be16 pkey) {
  int index = 0;
  const int failed = minus_one_call([&]() -> Expected<void, Failure> {
    if (context == nullptr) return null_argument();
    const rnic::Context& device = Context::of(context)->opened->context();
    for (;; ++index) {
      const auto found = device.pkey(port, index);
      if (found && __builtin_bswap16(*found) == pkey) return {};
      if (found) continue;
      if (index == 0) return Unexpected{found.error()};
      return rnic::refused(EINVAL, ReasonId::no_such_pkey, __builtin_bswap16(pkey));
    }
  });
  return failed != 0 ? failed : index;
}
