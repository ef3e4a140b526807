#include "cma/infiniband_path.h"

#include <cerrno>

#include "base/reason_id.h"
#include "cma/path.h"
#include "cma/port_space.h"
#include "device/pkey.h"

namespace softrnic::cma {
namespace {

/// A port has 2^LMC LIDs (IBTA 4.1.3).
bool is_lid_of(const device::InfinibandPort& port, wire::Lid lid) {
  return lid.is_unicast() && lid.value >> port.lmc == port.lid.value >> port.lmc;
}

bool fits_port(const PathRecord& record, const Id& id, const device::DeviceInfo& device) {
  const bool to_group = id.destination_gid.is_multicast();
  const bool leads_there =
      to_group ? record.destination_lid.is_multicast() : record.destination_lid.is_unicast();
  return leads_there && is_lid_of(device.port.infiniband, record.source_lid) && record.mtu >= IBV_MTU_256 &&
         record.mtu <= mtu_code(device.port.active_mtu) &&
         device::same_partition(record.pkey, id.binding.pkey) &&
         device::pkey_index(pkeys_of(device), record.pkey).has_value();
}

constexpr bool fits_fields(const PathRecord& record) {
  return record.sl < 16 && record.rate < 64 && record.packet_life_time < 32 && record.flow_label < 1U << 20;
}

}  // namespace

PathQuery path_query(const Id& id, TimePoint deadline) {
  PathQuery query;
  query.source = id.binding.gid;
  query.destination = id.destination_gid;
  query.port = id.binding.interface_index;
  query.pkey = id.binding.pkey;
  query.service_id = service_id_of(id.space, id.destination);
  query.deadline = deadline;
  if (id.source.family == Family::ipv4) {
    query.qos_class = id.tos;
  } else {
    query.traffic_class = static_cast<std::uint8_t>(id.source.flow_info >> 20);
  }
  return query;
}

Expected<cm::Path, Failure> path_by(const PathRecord& record, const Id& id,
                                    const device::DeviceInfo& device) {
  if (!fits_port(record, id, device) || !fits_fields(record))
    return Unexpected{refuse(EINVAL, ReasonId::cma_path_record, record.source_lid.value,
                             record.destination_lid.value, record.pkey, record.mtu)};
  cm::Path path;
  path.local = id.binding.gid;
  path.remote = id.destination_gid;
  path.interface_index = id.binding.interface_index;
  path.local_lid = record.source_lid;
  path.remote_lid = record.destination_lid;
  path.pkey = record.pkey;
  path.mtu = record.mtu;
  path.rate = record.rate;
  path.flow_label = record.flow_label;
  path.traffic_class = record.traffic_class;
  path.hop_limit = record.hop_limit;
  path.sl = record.sl;
  path.ack_timeout = id.qp_timeout.value_or(ack_timeout_code(kOwnAckDelay, record.packet_life_time));
  return path;
}

}  // namespace softrnic::cma
