#include "cma/given_path.h"

#include <arpa/inet.h>
#include <infiniband/sa.h>

#include <cerrno>
#include <cstring>
#include <optional>

#include "base/reason_id.h"
#include "cma/infiniband_path.h"
#include "cma/path.h"
#include "device/pkey.h"

namespace softrnic::cma {
namespace {

/// Of several records the one that both sides' datagrams and data take, in both directions, as Linux chooses.
std::optional<ibv_path_record> chosen_record(Bytes value) {
  constexpr std::uint32_t kWanted = IBV_PATH_FLAG_GMP | IBV_PATH_FLAG_PRIMARY | IBV_PATH_FLAG_BIDIRECTIONAL;
  if (value.size() % sizeof(ibv_path_data) != 0) return std::nullopt;
  for (; !value.empty(); value = value.subspan(sizeof(ibv_path_data))) {
    ibv_path_data data;
    std::memcpy(&data, value.data(), sizeof data);
    if (data.flags == kWanted) return data.path;
  }
  return std::nullopt;
}

bool names(const ibv_gid& theirs, const wire::Gid& ours) {
  return std::memcmp(&theirs, ours.raw.data(), sizeof theirs) == 0;
}

PathRecord from_record(const ibv_path_record& record) {
  constexpr std::uint8_t kValue = 0x3f;  // below the two bits of a selector
  const std::uint32_t flow = ntohl(record.flowlabel_hoplimit);
  PathRecord out;
  out.source_lid = wire::Lid(ntohs(record.slid));
  out.destination_lid = wire::Lid(ntohs(record.dlid));
  out.pkey = ntohs(record.pkey);
  out.flow_label = (flow >> 8) & 0xfffff;
  out.hop_limit = static_cast<std::uint8_t>(flow);
  out.traffic_class = record.tclass;
  out.sl = ntohs(record.qosclass_sl) & 0xf;
  out.mtu = record.mtu & kValue;
  out.rate = record.rate & kValue;
  out.packet_life_time = record.packetlifetime & 0x1f;
  return out;
}

/// `path`, of RoCE, as the record has it; nothing when the record asks for what its ports cannot do.
std::optional<cm::Path> changed_by(const PathRecord& record, cm::Path path) {
  const auto pkey = static_cast<std::uint16_t>(record.pkey | device::kFullMember);
  if (record.mtu < IBV_MTU_256 || record.mtu > path.mtu || pkey != wire::kDefaultPkey) return std::nullopt;
  path.mtu = record.mtu;
  path.rate = record.rate;
  path.flow_label = record.flow_label;
  path.hop_limit = record.hop_limit;
  path.traffic_class = record.traffic_class;
  path.sl = record.sl;
  return path;
}

std::optional<GivenPath> path_of(const PathRecord& record, const Id& id, const device::DeviceInfo& device) {
  std::optional<cm::Path> path;
  if (id.binding.has_lids()) {
    if (const auto known = path_by(record, id, device)) path = *known;
  } else {
    path = changed_by(record, make_path(id, device.port, record.packet_life_time));
  }
  if (!path) return std::nullopt;
  return GivenPath{*path, record.packet_life_time};
}

}  // namespace

Expected<GivenPath, Failure> given_path(const Id& id, const device::DeviceInfo& device, Bytes records) {
  const auto record = chosen_record(records);
  const bool is_of_route =
      record && names(record->sgid, id.binding.gid) && names(record->dgid, id.destination_gid);
  const auto given = is_of_route ? path_of(from_record(*record), id, device) : std::nullopt;
  if (!given)
    return Unexpected{refuse(EINVAL, ReasonId::cma_option_value, RDMA_OPTION_IB_PATH, records.size())};
  return *given;
}

}  // namespace softrnic::cma
