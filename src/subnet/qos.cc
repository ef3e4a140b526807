#include "subnet/qos.h"

#include <algorithm>
#include <utility>

#include "subnet/conf_text.h"

namespace softrnic::subnet {
namespace {

std::optional<std::uint8_t> parse_number(std::string_view text, unsigned least, unsigned most) {
  const auto number = parse_conf_number(trim(text), most);
  if (!number || *number < least) return std::nullopt;
  return static_cast<std::uint8_t>(*number);
}

// Calls `parse` for each piece between commas, until it returns false.
template <typename Parse>
bool parse_list(std::string_view text, Parse&& parse) {
  for (;;) {
    const std::size_t comma = text.find(',');
    if (!parse(text.substr(0, comma))) return false;
    if (comma == std::string_view::npos) return true;
    text.remove_prefix(comma + 1);
  }
}

// "VL:weight,VL:weight"
Expected<VlWeights, QosError> parse_weights(std::string_view text) {
  VlWeights weights;
  const bool is_good = parse_list(text, [&](std::string_view entry) {
    const std::size_t colon = entry.find(':');
    if (colon == std::string_view::npos) return false;
    const auto vl = parse_number(entry.substr(0, colon), 0, kDataVls - 1);
    const auto weight = parse_number(entry.substr(colon + 1), 0, 255);
    if (vl && weight) weights.push_back({*vl, *weight});
    return vl && weight;
  });
  if (!is_good) return Unexpected{QosError::bad_entry};
  if (weights.size() > kArbitrationEntries) return Unexpected{QosError::too_many};
  return weights;
}

// "VL,VL": those of SL 0, SL 1 and so on
Expected<SlToVl, QosError> parse_sl2vl(std::string_view text) {
  SlToVl table{};
  std::size_t sl = 0;
  const bool is_good = parse_list(text, [&](std::string_view entry) {
    const auto vl = parse_number(entry, 0, kDropVl);
    if (vl && sl < kServiceLevels) table[sl] = *vl;
    ++sl;
    return vl.has_value();
  });
  if (!is_good) return Unexpected{QosError::bad_number};
  if (sl != kServiceLevels) return Unexpected{sl < kServiceLevels ? QosError::too_few : QosError::too_many};
  return table;
}

// Keeps what was parsed.
template <typename T>
Expected<void, QosError> keep(Expected<T, QosError> parsed, std::optional<T>& out) {
  if (!parsed) return Unexpected{parsed.error()};
  out = std::move(parsed.value());
  return {};
}

Expected<std::uint8_t, QosError> number_or_error(std::string_view text, unsigned least, unsigned most) {
  const auto number = parse_number(text, least, most);
  if (!number) return Unexpected{QosError::bad_number};
  return *number;
}

constexpr std::uint8_t kDefaultWeight = 4;

VlWeights all_vls(std::uint8_t weight_of_vl0, std::uint8_t weight_of_others) {
  VlWeights weights{{0, weight_of_vl0}};
  for (std::uint8_t vl = 1; vl < kDataVls; ++vl) weights.push_back({vl, weight_of_others});
  return weights;
}

// VLs that a code has no room for lose their high bits: codes 1 to 5 keep 0, 1, 2, 3 and 4 of them.
std::uint8_t masked_vl(std::uint8_t vl, std::uint8_t code) {
  const unsigned bits = std::clamp<unsigned>(code, 1, 5) - 1;
  return static_cast<std::uint8_t>(vl & ((1U << bits) - 1));
}

constexpr std::array<std::pair<std::string_view, QosPort>, 4> kPortPrefixes = {{
    {"ca_", QosPort::channel_adapter},
    {"rtr_", QosPort::router},
    {"sw0_", QosPort::switch_port0},
    {"swe_", QosPort::switch_external},
}};

}  // namespace

VlWeights default_vlarb_high() { return all_vls(kDefaultWeight, 0); }
VlWeights default_vlarb_low() { return all_vls(0, kDefaultWeight); }

Expected<void, QosError> QosConfig::set(std::string_view name, std::string_view value) {
  constexpr std::string_view kPrefix = "qos_";
  if (!name.starts_with(kPrefix)) return Unexpected{QosError::unknown_option};
  name.remove_prefix(kPrefix.size());
  for (const auto& [prefix, port] : kPortPrefixes) {
    if (!name.starts_with(prefix)) continue;
    return set(by_port_[static_cast<std::size_t>(port)], name.substr(prefix.size()), value);
  }
  return set(common_, name, value);
}

Expected<void, QosError> QosConfig::set(Overrides& overrides, std::string_view option,
                                        std::string_view value) {
  if (option == "max_vls") return keep(number_or_error(value, 1, kDataVls), overrides.max_vls);
  if (option == "high_limit") return keep(number_or_error(value, 0, 255), overrides.high_limit);
  if (option == "vlarb_high") return keep(parse_weights(value), overrides.vlarb_high);
  if (option == "vlarb_low") return keep(parse_weights(value), overrides.vlarb_low);
  if (option == "sl2vl") return keep(parse_sl2vl(value), overrides.sl2vl);
  return Unexpected{QosError::unknown_option};
}

void QosConfig::apply(const Overrides& overrides, QosOptions& options) {
  options.max_vls = overrides.max_vls.value_or(options.max_vls);
  options.high_limit = overrides.high_limit.value_or(options.high_limit);
  if (overrides.vlarb_high) options.vlarb_high = *overrides.vlarb_high;
  if (overrides.vlarb_low) options.vlarb_low = *overrides.vlarb_low;
  options.sl2vl = overrides.sl2vl.value_or(options.sl2vl);
}

QosOptions QosConfig::options(QosPort port) const {
  QosOptions options;
  apply(common_, options);
  apply(by_port_[static_cast<std::size_t>(port)], options);
  return options;
}

std::uint8_t operational_vls(std::uint8_t vl_cap, std::uint8_t peer_vl_cap, std::uint8_t max_vls) {
  // A port that says 0 has VL 0 all the same.
  std::uint8_t code = std::clamp<std::uint8_t>(std::min(vl_cap, peer_vl_cap), 1, 5);
  while (code > 1 && vls_of_code(code) > max_vls) --code;
  return code;
}

SlToVl sl_to_vl(const QosOptions& options, std::uint8_t operational_vls_code) {
  SlToVl table = options.sl2vl;
  for (std::uint8_t& vl : table) {
    if (vl != kDropVl) vl = masked_vl(vl, operational_vls_code);
  }
  return table;
}

VlWeights arbitration_table(const VlWeights& weights, std::uint8_t entries,
                            std::uint8_t operational_vls_code) {
  if (operational_vls_code <= 1) return {};
  VlWeights table(std::min<std::size_t>(entries, kArbitrationEntries));
  for (std::size_t i = 0; i < std::min(table.size(), weights.size()); ++i) {
    table[i] = {masked_vl(weights[i].vl, operational_vls_code), weights[i].weight};
  }
  return table;
}

}  // namespace softrnic::subnet
