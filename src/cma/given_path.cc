#include "cma/given_path.h"

#include <arpa/inet.h>
#include <infiniband/sa.h>

#include <cerrno>
#include <cstring>
#include <optional>

#include "cma/path.h"

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

/// `path` as the record has it; nothing when the record is of another pair of ports, or asks
/// for what they cannot do.
std::optional<cm::Path> changed_by(const ibv_path_record& record, cm::Path path) {
  constexpr std::uint8_t kValue = 0x3f;  // below the two bits of a selector
  constexpr std::uint16_t kFullMember = 0x8000;
  const std::uint32_t flow = ntohl(record.flowlabel_hoplimit);
  const std::uint8_t mtu = record.mtu & kValue;
  const auto pkey = static_cast<std::uint16_t>(ntohs(record.pkey) | kFullMember);
  if (!names(record.sgid, path.local) || !names(record.dgid, path.remote)) return std::nullopt;
  if (mtu < IBV_MTU_256 || mtu > path.mtu || pkey != wire::kDefaultPkey) return std::nullopt;
  path.mtu = mtu;
  path.rate = record.rate & kValue;
  path.flow_label = (flow >> 8) & 0xfffff;
  path.hop_limit = static_cast<std::uint8_t>(flow);
  path.traffic_class = record.tclass;
  path.sl = ntohs(record.qosclass_sl) & 0xf;
  return path;
}

}  // namespace

Expected<GivenPath, Failure> given_path(const Id& id, const device::PortInfo& port, Bytes records) {
  const auto record = chosen_record(records);
  const std::uint8_t life_time = record ? record->packetlifetime & 0x1f : 0;
  const auto path = record ? changed_by(*record, make_path(id, port, life_time)) : std::nullopt;
  if (!path)
    return Unexpected{refuse(EINVAL, ReasonId::cma_option_value, RDMA_OPTION_IB_PATH, records.size())};
  return GivenPath{*path, life_time};
}

}  // namespace softrnic::cma
