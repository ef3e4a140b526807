// Quality of service in the terms of opensm.conf: which VL a service level takes, and how the VLs of a link
// share it (opensm, doc/QoS_management_in_OpenSM.txt 7). From these options come the tables that ports are
// sent.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/expected.h"

namespace softrnic::subnet {

inline constexpr std::size_t kServiceLevels = 16;
inline constexpr std::uint8_t kDataVls = 15;
/// In an SL-to-VL table: packets of the SL are dropped (IBTA 7.6.6).
inline constexpr std::uint8_t kDropVl = 15;
/// Entries of an arbitration table, at most (IBTA 7.6.9).
inline constexpr std::size_t kArbitrationEntries = 64;

struct VlWeight {
  std::uint8_t vl = 0;
  std::uint8_t weight = 0;  ///< in 64 bytes; 0: the entry is skipped

  bool operator==(const VlWeight&) const = default;
};
using VlWeights = std::vector<VlWeight>;
using SlToVl = std::array<std::uint8_t, kServiceLevels>;  // by SL

/// What OpenSM has without options: VL 0 in the high table and all others in the low one, with the same
/// weight.
VlWeights default_vlarb_high();
VlWeights default_vlarb_low();

/// All options of one kind of port; the initial values are OpenSM's.
struct QosOptions {
  std::uint8_t max_vls = kDataVls;  ///< data VLs that are used, 1 to 15
  std::uint8_t high_limit = 0;      ///< PortInfo VLHighLimit, in 4096 bytes; 255: no limit
  VlWeights vlarb_high = default_vlarb_high();
  VlWeights vlarb_low = default_vlarb_low();
  SlToVl sl2vl{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 7};
};

/// Kinds of ports that have options of their own: qos_ca_…, qos_rtr_…, qos_sw0_…, qos_swe_….
enum class QosPort : std::uint8_t { channel_adapter, router, switch_port0, switch_external };

enum class QosError : std::uint8_t {
  unknown_option,
  bad_number,  ///< not a number, or out of its range
  bad_entry,   ///< vlarb: not VL:weight, or a VL beyond 14
  too_many,    ///< vlarb: more than 64 entries; sl2vl: more than 16
  too_few,     ///< sl2vl: fewer than 16
};

class QosConfig {
 public:
  /// Sets one option by its name in opensm.conf, such as qos_max_vls or qos_swe_vlarb_low. Nothing is changed
  /// on an error. VLs of vlarb are 0 to 14, those of sl2vl 0 to 15.
  Expected<void, QosError> set(std::string_view name, std::string_view value);

  /// What holds for such a port: its own option, else the common one, else OpenSM's.
  QosOptions options(QosPort port) const;

 private:
  struct Overrides {
    std::optional<std::uint8_t> max_vls;
    std::optional<std::uint8_t> high_limit;
    std::optional<VlWeights> vlarb_high;
    std::optional<VlWeights> vlarb_low;
    std::optional<SlToVl> sl2vl;
  };
  static Expected<void, QosError> set(Overrides& overrides, std::string_view option, std::string_view value);
  static void apply(const Overrides& overrides, QosOptions& options);

  Overrides common_;
  std::array<Overrides, 4> by_port_;  // by QosPort
};

/// VL counts as PortInfo has them, VLCap and OperationalVLs (IBTA 14.2.5.6): 1: VL0, 2: VL0–1, 3: VL0–3,
/// 4: VL0–7, 5: VL0–14.
constexpr std::uint8_t vls_of_code(std::uint8_t code) {
  constexpr std::array<std::uint8_t, 6> kVls = {1, 1, 2, 4, 8, 15};
  return kVls[code < kVls.size() ? code : kVls.size() - 1];
}

/// OperationalVLs of a link: the highest code that both ends have and that is not more than `max_vls`.
std::uint8_t operational_vls(std::uint8_t vl_cap, std::uint8_t peer_vl_cap, std::uint8_t max_vls);

/// The SL-to-VL table for links with that OperationalVLs code: a VL that is not there becomes the one of its
/// low bits, as in OpenSM; kDropVl stays.
SlToVl sl_to_vl(const QosOptions& options, std::uint8_t operational_vls_code);

/// An arbitration table as it is sent: as many entries as the port has (PortInfo VLArbitrationHighCap or
/// …LowCap, at most 64), VLs as in sl_to_vl, unused entries with weight 0. Empty with one data VL, where
/// there is nothing to arbitrate.
VlWeights arbitration_table(const VlWeights& weights, std::uint8_t entries,
                            std::uint8_t operational_vls_code);

}  // namespace softrnic::subnet
