#include "subnet/opensm_conf.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "subnet/conf_text.h"
#include "subnet/routing_engine.h"

namespace softrnic::subnet {
namespace {

template <typename Number>
bool set_number(std::string_view text, Number& out, std::uint64_t most = std::numeric_limits<Number>::max()) {
  const auto number = parse_conf_number(text, most);
  if (number) out = static_cast<Number>(*number);
  return number.has_value();
}

bool set_truth(std::string_view text, bool& out) {
  const bool is_true = text == "TRUE", is_known = is_true || text == "FALSE";
  if (is_known) out = is_true;
  return is_known;
}

bool set_seconds(std::string_view text, Duration& out) {
  std::uint32_t seconds = 0;
  if (!set_number(text, seconds)) return false;
  out = std::chrono::seconds(seconds);
  return true;
}

bool set_engine(std::string_view text, ManagerOptions& options) {
  if (std::ranges::find(routing_engines(), text) == routing_engines().end()) return false;
  options.routing.engine = text;
  return true;
}

struct Row {
  std::string_view name;
  bool (*set)(std::string_view value, ManagerOptions& options);
};

constexpr std::uint8_t kMostTime = 31;  ///< codes of 5 bits
constexpr std::uint8_t kMostStall = 7;  ///< VLStallCount has 3 bits

constexpr Row kRows[] = {
    {"head_of_queue_lifetime",
     [](auto v, auto& o) { return set_number(v, o.ports.head_of_queue_lifetime, kMostTime); }},
    {"leaf_head_of_queue_lifetime",
     [](auto v, auto& o) { return set_number(v, o.ports.leaf_head_of_queue_lifetime, kMostTime); }},
    {"leaf_vl_stall_count",
     [](auto v, auto& o) { return set_number(v, o.ports.leaf_vl_stall_count, kMostStall); }},
    {"lmc", [](auto v, auto& o) { return set_number(v, o.lids.lmc, 7); }},
    {"m_key", [](auto v, auto& o) { return set_number(v, o.ports.m_key); }},
    {"m_key_lease_period", [](auto v, auto& o) { return set_number(v, o.ports.m_key_lease_period); }},
    {"m_key_protection_level", [](auto v, auto& o) { return set_number(v, o.ports.m_key_protect_bits, 3); }},
    {"packet_life_time", [](auto v, auto& o) { return set_number(v, o.ports.packet_life_time, kMostTime); }},
    {"qos", [](auto v, auto& o) { return set_truth(v, o.qos); }},
    {"routing_engine", set_engine},
    {"sm_priority", [](auto v, auto& o) { return set_number(v, o.priority, 15); }},
    {"sm_sl", [](auto v, auto& o) { return set_number(v, o.ports.sm_sl, 15); }},
    {"subnet_prefix", [](auto v, auto& o) { return set_number(v, o.ports.subnet_prefix); }},
    {"subnet_timeout", [](auto v, auto& o) { return set_number(v, o.ports.subnet_timeout, kMostTime); }},
    {"sweep_interval", [](auto v, auto& o) { return set_seconds(v, o.sweep_interval); }},
    {"vl_stall_count", [](auto v, auto& o) { return set_number(v, o.ports.vl_stall_count, kMostStall); }},
};

std::optional<OpensmConfFault> set(std::string_view name, std::string_view value, ManagerOptions& options) {
  const auto* const row = std::ranges::find(kRows, name, &Row::name);
  if (row != std::end(kRows))
    return row->set(value, options) ? std::nullopt : std::optional(OpensmConfFault::bad_value);
  const auto done = options.qos_config.set(name, value);
  if (done) return std::nullopt;
  return done.error() == QosError::unknown_option ? OpensmConfFault::unknown_option
                                                  : OpensmConfFault::bad_value;
}

}  // namespace

std::string_view name_of(OpensmConfFault fault) {
  constexpr std::string_view kNames[] = {"is no option of this manager", "has no value",
                                         "cannot have this value"};
  const auto index = static_cast<std::size_t>(fault);
  return index < std::size(kNames) ? kNames[index] : "";
}

Expected<ManagerOptions, OpensmConfError> read_opensm_conf(std::string_view text, ManagerOptions options) {
  for (std::size_t number = 1; !text.empty(); ++number) {
    std::string_view line = cut(text, "\n");
    line = trim(cut(line, "#"));
    if (line.empty()) continue;
    const std::string_view name = cut(line, kConfSpace);
    const std::string_view value = trim(line);
    std::optional<OpensmConfFault> fault;
    if (value.empty()) fault = OpensmConfFault::no_value;
    if (!fault && value != "(null)") fault = set(name, value, options);
    if (fault) return Unexpected{OpensmConfError{number, *fault, std::string(name)}};
  }
  return options;
}

}  // namespace softrnic::subnet
