// PathRecord and MultiPathRecord: how to get from one port to another (IBTA 15.2.5.16, 15.2.5.20).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "mad/field.h"
#include "mad/link.h"
#include "mad/sa_header.h"
#include "wire/gid.h"
#include "wire/lid.h"

namespace softrnic::mad {

struct PathRecord {
  static constexpr std::uint16_t kAttribute = 0x0035;

  std::uint8_t service_id_8msb = 0;
  std::uint64_t service_id_56lsb = 0;  ///< 56 bits
  wire::Gid dgid{};
  wire::Gid sgid{};
  wire::Lid dlid{};
  wire::Lid slid{};
  bool raw_traffic = false;
  std::uint8_t reserved44 = 0;   ///< 3 bits
  std::uint32_t flow_label = 0;  ///< 20 bits
  std::uint8_t hop_limit = 0;
  std::uint8_t traffic_class = 0;
  bool reversible = false;     ///< the way back is the same
  std::uint8_t num_paths = 0;  ///< 7 bits: how many are wanted at most
  std::uint16_t p_key = 0;
  std::uint16_t qos_class = 0;  ///< 12 bits
  std::uint8_t sl = 0;          ///< 4 bits
  Selector mtu_selector{};      ///< 2 bits
  Mtu mtu{};
  Selector rate_selector{};  ///< 2 bits
  Rate rate{};
  Selector packet_life_time_selector{};  ///< 2 bits
  std::uint8_t packet_life_time = 0;     ///< 6-bit code: 4.096 µs · 2^code
  std::uint8_t preference = 0;           ///< the lower the better
  std::array<std::byte, 6> reserved58{};

  std::uint64_t service_id() const { return std::uint64_t{service_id_8msb} << 56 | service_id_56lsb; }
  void set_service_id(std::uint64_t id) {
    service_id_8msb = static_cast<std::uint8_t>(id >> 56);
    service_id_56lsb = id & ((std::uint64_t{1} << 56) - 1);
  }
};
template <>
inline constexpr std::array fields_of<PathRecord> = {
    field<&PathRecord::service_id_8msb>("service_id_8msb", 0, 0, 8),
    field<&PathRecord::service_id_56lsb>("service_id_56lsb", 1, 0, 56),
    field<&PathRecord::dgid>("dgid", 8, 0, 128),
    field<&PathRecord::sgid>("sgid", 24, 0, 128),
    field<&PathRecord::dlid>("dlid", 40, 0, 16),
    field<&PathRecord::slid>("slid", 42, 0, 16),
    field<&PathRecord::raw_traffic>("raw_traffic", 44, 0, 1),
    field<&PathRecord::reserved44>("reserved44", 44, 1, 3),
    field<&PathRecord::flow_label>("flow_label", 44, 4, 20),
    field<&PathRecord::hop_limit>("hop_limit", 47, 0, 8),
    field<&PathRecord::traffic_class>("traffic_class", 48, 0, 8),
    field<&PathRecord::reversible>("reversible", 49, 0, 1),
    field<&PathRecord::num_paths>("num_paths", 49, 1, 7),
    field<&PathRecord::p_key>("p_key", 50, 0, 16),
    field<&PathRecord::qos_class>("qos_class", 52, 0, 12),
    field<&PathRecord::sl>("sl", 53, 4, 4),
    field<&PathRecord::mtu_selector>("mtu_selector", 54, 0, 2),
    field<&PathRecord::mtu>("mtu", 54, 2, 6),
    field<&PathRecord::rate_selector>("rate_selector", 55, 0, 2),
    field<&PathRecord::rate>("rate", 55, 2, 6),
    field<&PathRecord::packet_life_time_selector>("packet_life_time_selector", 56, 0, 2),
    field<&PathRecord::packet_life_time>("packet_life_time", 56, 2, 6),
    field<&PathRecord::preference>("preference", 57, 0, 8),
    field<&PathRecord::reserved58>("reserved58", 58, 0, 48),
};
static_assert(covers<PathRecord>(64));

/// A query for paths among several ports: first `sgid_count` GIDs of sources, then `dgid_count` of
/// destinations. Those that one datagram has room for are here; of more, which RMPP could bring, nothing is
/// known to ask.
struct MultiPathRecord {
  static constexpr std::uint16_t kAttribute = 0x003a;
  static constexpr std::size_t kMostGids = 11;

  bool raw_traffic = false;
  std::uint8_t reserved0 = 0;    ///< 3 bits
  std::uint32_t flow_label = 0;  ///< 20 bits
  std::uint8_t hop_limit = 0;
  std::uint8_t traffic_class = 0;
  bool reversible = false;     ///< the way back is the same
  std::uint8_t num_paths = 0;  ///< 7 bits: how many are wanted at most
  std::uint16_t p_key = 0;
  std::uint16_t qos_class = 0;  ///< 12 bits
  std::uint8_t sl = 0;          ///< 4 bits
  Selector mtu_selector{};      ///< 2 bits
  Mtu mtu{};
  Selector rate_selector{};  ///< 2 bits
  Rate rate{};
  Selector packet_life_time_selector{};  ///< 2 bits
  std::uint8_t packet_life_time = 0;     ///< 6-bit code: 4.096 µs · 2^code
  std::uint8_t service_id_8msb = 0;
  std::uint8_t independence = 0;  ///< 2 bits: 1, the paths should share no component
  std::uint8_t reserved14 = 0;    ///< 6 bits
  std::uint8_t sgid_count = 0;
  std::uint8_t dgid_count = 0;
  std::uint64_t service_id_56lsb = 0;  ///< 56 bits
  std::array<wire::Gid, kMostGids> gids{};

  std::uint64_t service_id() const { return std::uint64_t{service_id_8msb} << 56 | service_id_56lsb; }
  void set_service_id(std::uint64_t id) {
    service_id_8msb = static_cast<std::uint8_t>(id >> 56);
    service_id_56lsb = id & ((std::uint64_t{1} << 56) - 1);
  }
};
template <>
inline constexpr std::array fields_of<MultiPathRecord> = {
    field<&MultiPathRecord::raw_traffic>("raw_traffic", 0, 0, 1),
    field<&MultiPathRecord::reserved0>("reserved0", 0, 1, 3),
    field<&MultiPathRecord::flow_label>("flow_label", 0, 4, 20),
    field<&MultiPathRecord::hop_limit>("hop_limit", 3, 0, 8),
    field<&MultiPathRecord::traffic_class>("traffic_class", 4, 0, 8),
    field<&MultiPathRecord::reversible>("reversible", 5, 0, 1),
    field<&MultiPathRecord::num_paths>("num_paths", 5, 1, 7),
    field<&MultiPathRecord::p_key>("p_key", 6, 0, 16),
    field<&MultiPathRecord::qos_class>("qos_class", 8, 0, 12),
    field<&MultiPathRecord::sl>("sl", 9, 4, 4),
    field<&MultiPathRecord::mtu_selector>("mtu_selector", 10, 0, 2),
    field<&MultiPathRecord::mtu>("mtu", 10, 2, 6),
    field<&MultiPathRecord::rate_selector>("rate_selector", 11, 0, 2),
    field<&MultiPathRecord::rate>("rate", 11, 2, 6),
    field<&MultiPathRecord::packet_life_time_selector>("packet_life_time_selector", 12, 0, 2),
    field<&MultiPathRecord::packet_life_time>("packet_life_time", 12, 2, 6),
    field<&MultiPathRecord::service_id_8msb>("service_id_8msb", 13, 0, 8),
    field<&MultiPathRecord::independence>("independence", 14, 0, 2),
    field<&MultiPathRecord::reserved14>("reserved14", 14, 2, 6),
    field<&MultiPathRecord::sgid_count>("sgid_count", 15, 0, 8),
    field<&MultiPathRecord::dgid_count>("dgid_count", 16, 0, 8),
    field<&MultiPathRecord::service_id_56lsb>("service_id_56lsb", 17, 0, 56),
    field<&MultiPathRecord::gids>("gids", 24, 0, 1408),
};
static_assert(covers<MultiPathRecord>(200));

}  // namespace softrnic::mad
