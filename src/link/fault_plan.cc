#include "link/fault_plan.h"

#include <charconv>
#include <iterator>
#include <optional>

namespace softrnic::link {
namespace {

constexpr Duration kLongestDelay = std::chrono::seconds(10);

struct Number {
  double value = 0;
  std::string_view unit;
};

std::optional<Number> read_number(std::string_view text) {
  Number out;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out.value);
  if (error != std::errc{} || !(out.value >= 0)) return std::nullopt;
  out.unit = std::string_view(end, static_cast<std::size_t>(text.data() + text.size() - end));
  return out;
}

bool read_chance(std::string_view text, double& out) {
  const auto number = read_number(text);
  if (!number || (!number->unit.empty() && number->unit != "%")) return false;
  out = number->unit.empty() ? number->value : number->value / 100;
  return out <= 1;
}

bool read_time(std::string_view text, Duration& out) {
  struct Unit {
    std::string_view name;
    double ns;
  };
  constexpr Unit kUnits[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
  const auto number = read_number(text);
  if (!number) return false;
  for (const Unit& unit : kUnits) {
    if (unit.name != number->unit) continue;
    if (number->value * unit.ns > static_cast<double>(kLongestDelay.count())) return false;
    out = Duration(static_cast<Duration::rep>(number->value * unit.ns));
    return true;
  }
  return false;
}

bool read_seed(std::string_view text, std::uint64_t& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc{} && end == text.data() + text.size();
}

struct Row {
  std::string_view name;
  std::string_view expected;
  bool (*read)(std::string_view value, FaultPlan& plan);
};

constexpr std::string_view kChance = "a percentage like 1% or a chance from 0 to 1";

constexpr Row kRows[] = {
    {"drop", kChance, [](std::string_view v, FaultPlan& plan) { return read_chance(v, plan.drop); }},
    {"dup", kChance, [](std::string_view v, FaultPlan& plan) { return read_chance(v, plan.duplicate); }},
    {"reorder", kChance, [](std::string_view v, FaultPlan& plan) { return read_chance(v, plan.reorder); }},
    {"corrupt", kChance, [](std::string_view v, FaultPlan& plan) { return read_chance(v, plan.corrupt); }},
    {"cut", kChance, [](std::string_view v, FaultPlan& plan) { return read_chance(v, plan.cut); }},
    {"stall", kChance, [](std::string_view v, FaultPlan& plan) { return read_chance(v, plan.stall); }},
    {"split", kChance, [](std::string_view v, FaultPlan& plan) { return read_chance(v, plan.split); }},
    {"delay", "a time like 5ms, at most 10s (units: ns, us, ms, s)",
     [](std::string_view v, FaultPlan& plan) { return read_time(v, plan.delay); }},
    {"seed", "a whole number", [](std::string_view v, FaultPlan& plan) { return read_seed(v, plan.seed); }},
};

std::string read_fault(std::string_view fault, FaultPlan& plan) {
  const std::size_t equals = fault.find('=');
  const std::string_view name = fault.substr(0, equals);
  for (const Row& row : kRows) {
    if (row.name != name) continue;
    const std::string_view value = equals == std::string_view::npos ? "" : fault.substr(equals + 1);
    if (row.read(value, plan)) return {};
    return "\"" + std::string(fault) + "\": " + std::string(name) + " wants " + std::string(row.expected);
  }
  return "\"" + std::string(name) +
         "\" is no fault; there are drop, dup, reorder, corrupt, delay and seed, and for streams "
         "cut, stall, split and corrupt";
}

}  // namespace

Expected<FaultPlan, std::string> parse_fault_plan(std::string_view text) {
  FaultPlan plan;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::string_view fault = text.substr(0, comma);
    if (std::string trouble = read_fault(fault, plan); !trouble.empty())
      return Unexpected{std::move(trouble)};
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
    if (text.empty()) return Unexpected{std::string("a fault is missing after the last comma")};
  }
  return plan;
}

}  // namespace softrnic::link
