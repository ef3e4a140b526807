// Pairs of devices for subnet management and for general services. A port of some adapters shows as several
// devices with one port GUID; the one that serves SMPs is told by its capability bit IsSMDisabled.
#include <algorithm>
#include <cstring>
#include <map>

#include "abi/export.h"
#include "abi/umad/calls.h"
#include "abi/umad/choice.h"
#include "abi/umad/structures.h"
#include "base/reason_id.h"

namespace softrnic::umad {
namespace {

constexpr std::uint8_t kInitialising = 2;  ///< PortState from which on SMPs pass

void put(char (&field)[kNameSize], const std::string& text) {
  std::memset(field, 0, sizeof field);
  text.copy(field, sizeof field - 1);
}

/// In the order of names, as umad_get_cas_names gives them.
std::vector<control::MadCa> cas_by_name() {
  auto cas = all_cas();
  if (!cas) return {};
  std::erase_if(*cas, [](const control::MadCa& ca) { return ca.name.size() >= kNameSize; });
  std::sort(cas->begin(), cas->end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return std::move(*cas);
}

std::vector<umad_ca_pair> make_pairs(const std::vector<control::MadCa>& cas, std::size_t max) {
  std::map<std::uint64_t, int> devices_with;  // by port GUID
  for (const control::MadCa& ca : cas)
    for (const control::MadPort& port : ca.ports) ++devices_with[port.port_guid];
  std::vector<umad_ca_pair> pairs;
  std::map<std::uint64_t, std::size_t> pair_of;
  for (const control::MadCa& ca : cas) {
    // one port of a device decides: the first with a GUID for which there is room
    for (const control::MadPort& port : ca.ports) {
      if (port.port_guid == 0) continue;
      if (!pair_of.contains(port.port_guid)) {
        if (pairs.size() == max) continue;
        pair_of[port.port_guid] = pairs.size();
        pairs.emplace_back();
      }
      umad_ca_pair& pair = pairs[pair_of[port.port_guid]];
      const bool shares_port = devices_with[port.port_guid] > 1;
      if (!is_smi_disabled(port)) put(pair.smi_name, ca.name);
      if (!shares_port || is_smi_disabled(port)) put(pair.gsi_name, ca.name);
      break;
    }
  }
  return pairs;
}

bool is_up(const control::MadPort* port) { return port != nullptr && port->state >= kInitialising; }

bool find_up(const control::MadCa& ca, std::uint32_t& out) {
  const auto found = std::find_if(ca.ports.begin(), ca.ports.end(), [](const auto& p) { return is_up(&p); });
  if (found == ca.ports.end()) return false;
  out = found->number;
  return true;
}

/// False: no port that is up. `named`: the program names device and port, which then need not be up.
bool choose_ports(umad_ca_pair& pair, const control::MadCa& ca, bool is_gsi, std::uint32_t number,
                  bool named) {
  if (ca.ports.size() == 1) number = ca.ports.front().number;
  if (number == 0 && ca.node_type != IBV_NODE_SWITCH) {
    const bool smi = find_up(ca, pair.smi_preferred_port);
    return find_up(ca, pair.gsi_preferred_port) && smi;
  }
  if (!named && !is_up(ca.port(number))) return false;
  if (std::strncmp(pair.gsi_name, pair.smi_name, kNameSize) == 0) {
    pair.gsi_preferred_port = pair.smi_preferred_port = number;
    return true;
  }
  (is_gsi ? pair.gsi_preferred_port : pair.smi_preferred_port) = number;
  return find_up(ca, is_gsi ? pair.smi_preferred_port : pair.gsi_preferred_port) || named;
}

bool has_name(const char (&field)[kNameSize], const char* name) {
  return std::strncmp(field, name, kNameSize) == 0;
}

/// Fills `out` with the first pair that will do. ENODEV: none does.
Expected<int, Failure> find_pair(const char* name, std::uint8_t number, umad_ca_pair& out, bool enforce_smi) {
  constexpr std::size_t kMostPairs = 192;  // UMAD_MAX_PORTS
  const auto cas = cas_by_name();
  const auto pairs = make_pairs(cas, kMostPairs);
  if (pairs.empty()) return 0;
  for (const umad_ca_pair& pair : pairs) {
    if ((enforce_smi && pair.smi_name[0] == '\0') || pair.gsi_name[0] == '\0') continue;
    const bool is_named_gsi = name != nullptr && has_name(pair.gsi_name, name);
    if (name != nullptr && !is_named_gsi && !has_name(pair.smi_name, name)) continue;
    const bool is_gsi = is_named_gsi || (!enforce_smi && pair.smi_name[0] == '\0');
    const std::string wanted(is_gsi ? pair.gsi_name : pair.smi_name);
    const auto ca = std::find_if(cas.begin(), cas.end(), [&](const auto& c) { return c.name == wanted; });
    if (ca == cas.end() || (number != 0 && ca->port(number) == nullptr)) continue;
    out = pair;
    if (choose_ports(out, *ca, is_gsi, number, name != nullptr)) return 0;
  }
  return rnic::refused(ENODEV, ReasonId::mad_no_port, number);
}

}  // namespace
}  // namespace softrnic::umad

using namespace softrnic;
using namespace softrnic::umad;

SOFTRNIC_EXPORT int umad_get_smi_gsi_pairs(umad_ca_pair cas[], std::size_t max) {
  return value_or(-1, [&]() -> Expected<int, Failure> {
    const auto pairs = make_pairs(cas_by_name(), max);
    std::memset(cas, 0, sizeof(umad_ca_pair) * max);
    std::copy(pairs.begin(), pairs.end(), cas);
    return static_cast<int>(pairs.size());
  });
}

SOFTRNIC_EXPORT int umad_get_smi_gsi_pair_by_ca_name(const char* name, std::uint8_t portnum,
                                                     umad_ca_pair* ca_pair, unsigned enforce_smi) {
  if (ca_pair == nullptr) return -1;
  *ca_pair = {};
  return value_or(-ENODEV, [&] { return find_pair(name, portnum, *ca_pair, enforce_smi != 0); });
}
