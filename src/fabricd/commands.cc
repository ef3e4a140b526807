#include "fabricd/commands.h"

#include <fmt/core.h>

#include <charconv>
#include <optional>
#include <span>
#include <vector>

#include "base/clock.h"
#include "fabricd/emulated_fabric.h"
#include "fabricd/fabric_report.h"
#include "fabricd/trace_report.h"
#include "fabricd/why_report.h"

namespace softrnic::fabricd {
namespace {

using Result = Expected<std::string, std::string>;
using Words = std::span<const std::string_view>;

constexpr std::string_view kDone = "{}";

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  while (!line.empty()) {
    const std::size_t end = line.find('\t');
    if (end != 0) words.push_back(line.substr(0, end));
    line.remove_prefix(end == std::string_view::npos ? line.size() : end + 1);
  }
  return words;
}

template <typename Number>
std::optional<Number> number_in(std::string_view word) {
  Number number{};
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc{} || end != word.data() + word.size()) return std::nullopt;
  return number;
}

/// The cable at a port: its place among those of the fabric.
Expected<std::size_t, std::string> cable_at(const EmulatedFabric& fabric, std::string_view node,
                                            std::string_view port) {
  const auto index = fabric.topology().find(node);
  if (!index) return Unexpected{fmt::format("there is no node {}", node)};
  const auto number = number_in<std::uint8_t>(port);
  const fabric::PortAddress address{*index, number.value_or(0)};
  if (const auto cable = fabric.cable_at(address)) return *cable;
  return Unexpected{fmt::format("{} has no cable at port {}", node, port)};
}

Result done_if(bool done) {
  if (done) return std::string(kDone);
  return Unexpected{std::string("the fabric cannot do that now")};
}

Result degrade(EmulatedFabric& fabric, std::size_t cable, std::string_view rate) {
  const auto wanted = fabric::parse_link_rate(rate);
  if (!wanted) return Unexpected{fmt::format("{} is no rate; 1xSDR or 4xEDR are", rate)};
  return done_if(fabric.limit_rate(cable, *wanted));
}

Result damage(EmulatedFabric& fabric, std::size_t cable, std::string_view chance) {
  const auto wanted = number_in<double>(chance);
  if (!wanted || *wanted < 0 || *wanted > 1)
    return Unexpected{fmt::format("{} is no part of all packets; 0.001 is", chance)};
  return done_if(fabric.set_errors(cable, *wanted));
}

Result change_link(EmulatedFabric& fabric, Words words) {
  const auto cable = cable_at(fabric, words[1], words[2]);
  if (!cable) return Unexpected{cable.error()};
  if (words[3] == "up") return done_if(fabric.set_connected(*cable, true));
  if (words[3] == "down") return done_if(fabric.set_connected(*cable, false));
  if (words.size() == 5 && words[3] == "degrade") return degrade(fabric, *cable, words[4]);
  if (words.size() == 5 && words[3] == "errors") return damage(fabric, *cable, words[4]);
  return Unexpected{std::string("a link can be up, down, degrade RATE or errors PART")};
}

/// All cables of a node are pulled, or put back.
Result change_node(EmulatedFabric& fabric, Words words) {
  const auto index = fabric.topology().find(words[1]);
  if (!index) return Unexpected{fmt::format("there is no node {}", words[1])};
  if (words[2] != "kill" && words[2] != "restart")
    return Unexpected{std::string("a node can be kill or restart")};
  for (const std::size_t cable : fabric.cables_of(*index)) fabric.set_connected(cable, words[2] == "restart");
  return std::string(kDone);
}

/// show [vl]
Result show(EmulatedFabric& fabric, Words words) {
  return report(fabric, {.vls = words.size() == 2 && words[1] == "vl", .now = monotonic_now()});
}

/// The SL in word `at`; 0: there is no such word.
Expected<std::uint8_t, std::string> sl_in(Words words, std::size_t at) {
  if (words.size() <= at) return std::uint8_t{0};
  const auto sl = number_in<std::uint8_t>(words[at]);
  if (!sl || *sl > 15) return Unexpected{fmt::format("{} is no service level; 0 to 15 are", words[at])};
  return *sl;
}

Result trace(EmulatedFabric& fabric, Words words) {
  const auto sl = sl_in(words, 3);
  return sl ? trace_report(fabric.state(), words[1], words[2], *sl) : Result(Unexpected{sl.error()});
}

/// why A B SL [P_KEY]
Result why(EmulatedFabric& fabric, Words words) {
  const auto sl = sl_in(words, 3);
  if (!sl) return Unexpected{sl.error()};
  Question question{.sl = *sl, .now = monotonic_now()};
  if (words.size() == 5) {
    const auto p_key = number_in<std::uint16_t>(words[4]);
    if (!p_key || (*p_key & fabric::kPartition) == 0)
      return Unexpected{fmt::format("{} is no P_Key", words[4])};
    question.p_key = *p_key;
  }
  const CureContext context{.fabric = fabric.name(), .has_manager = fabric.manager() != nullptr};
  return why_report(fabric.state(), words[1], words[2], question, context);
}

struct Row {
  std::string_view word;
  std::size_t least, most;  ///< words, this one included
  Result (*perform)(EmulatedFabric& fabric, Words words);
};

constexpr Row kRows[] = {
    {"show", 1, 2, show},
    {"log", 1, 1, [](EmulatedFabric& fabric, Words) -> Result { return manager_log(fabric); }},
    {"link", 4, 5, change_link},
    {"node", 3, 3, change_node},
    {"trace", 3, 4, trace},
    {"why", 4, 5, why},
};

}  // namespace

Expected<std::string, std::string> perform(EmulatedFabric& fabric, std::string_view line) {
  const std::vector<std::string_view> words = words_of(line);
  for (const Row& row : kRows)
    if (!words.empty() && words[0] == row.word && words.size() >= row.least && words.size() <= row.most)
      return row.perform(fabric, words);
  return Unexpected{std::string("the fabric knows no such command; softrnic may be of another version")};
}

}  // namespace softrnic::fabricd
