#include "base/settings.h"

#include <sys/auxv.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <iterator>
#include <utility>

#include "base/lane_limits.h"

namespace softrnic {
namespace {

constexpr std::size_t kTypingErrors = 3;
constexpr std::string_view kPrefix = "SOFTRNIC_";

using Parser = bool (*)(std::string_view value, Settings& out);

bool parse_flag(std::string_view value, bool& out) {
  constexpr std::string_view yes[] = {"1", "y", "yes", "on", "true"};
  constexpr std::string_view no[] = {"", "0", "n", "no", "off", "false"};
  const auto is = [value](std::string_view word) { return word == value; };
  out = std::any_of(std::begin(yes), std::end(yes), is);
  return out || std::any_of(std::begin(no), std::end(no), is);
}

bool parse_count(std::string_view value, unsigned low, unsigned high, unsigned& out) {
  unsigned parsed = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), parsed);
  if (error != std::errc{} || end != value.data() + value.size() || parsed < low || parsed > high)
    return false;
  out = parsed;
  return true;
}

bool parse_path(std::string_view value, Settings& out) {
  out.wire_only = value == "wire";
  return value.empty() || value == "auto" || value == "wire";
}

bool parse_share(std::string_view value, Settings& out) {
  constexpr std::pair<std::string_view, ShareFiles> words[] = {{"", ShareFiles::fixed},
                                                               {"fixed", ShareFiles::fixed},
                                                               {"all", ShareFiles::all},
                                                               {"none", ShareFiles::none}};
  const auto* const found = std::find_if(std::begin(words), std::end(words),
                                         [value](const auto& word) { return word.first == value; });
  if (found == std::end(words)) return false;
  out.share = found->second;
  return true;
}

/// As locales are written, but for the encodings that are not ours.
bool parse_language(std::string_view value, Settings& out) {
  for (const std::string_view encoding : {".UTF-8", ".utf8"})
    if (value.ends_with(encoding)) value.remove_suffix(encoding.size());
  if (value == "zh" || value == "zh_CN") out.language = Language::chinese;
  return out.language == Language::chinese || value.empty() || value == "en";
}

template <std::string Settings::*member>
bool text(std::string_view value, Settings& out) {
  out.*member = value;
  return true;
}

struct Row {
  SettingInfo info;
  Parser parse;
};

constexpr Row kRows[] = {
    {{"SOFTRNIC_EXPLAIN", "0", "1: print the reason of every failure, drop and NAK to stderr as it happens"},
     [](std::string_view v, Settings& out) { return parse_flag(v, out.explain); }},
    {{"SOFTRNIC_LANG", "en", "language of reasons: en, or zh (zh_CN, zh_CN.UTF-8) for Chinese"},
     parse_language},
    {{"SOFTRNIC_FAULTS", "",
      "inject faults: drop=1%,dup=1%,reorder=1%,corrupt=1%,delay=5ms,seed=7; when it does not parse, no "
      "device opens"},
     text<&Settings::faults>},
    {{"SOFTRNIC_CAPTURE", "", "write all packets of the process to this pcapng file (%p: process id)"},
     text<&Settings::capture>},
    {{"SOFTRNIC_LANES", "1", "sockets, locks and engine threads of the process, 1 to 16"},
     [](std::string_view v, Settings& out) { return parse_count(v, 1, kProcessLanes, out.lanes); }},
    {{"SOFTRNIC_DAEMON", "", "path of softrnicd (default: found relative to the library)"},
     text<&Settings::daemon>},
    {{"SOFTRNIC_SYSTEM_USER", "0",
      "number of the user whose softrnicd --system is believed, besides root's; in a user namespace that "
      "does "
      "not know root that is 65534"},
     [](std::string_view v, Settings& out) { return parse_count(v, 0, 0xfffffffe, out.system_user); }},
    {{"SOFTRNIC_PATH", "auto", "wire: RoCEv2 by UDP and iWARP by TCP, even between queue pairs of one host"},
     parse_path},
    {{"SOFTRNIC_SHARE", "fixed",
      "which shared memory that is registered peers on this host map: fixed: what cannot shrink, all: every "
      "file, which "
      "nobody may truncate then, none"},
     parse_share},
    {{"SOFTRNIC_SYSFS", "",
      "folder of the files that programs find under /sys and /dev; `softrnic run` sets it"},
     [](std::string_view, Settings&) { return true; }},
    {{"SOFTRNIC_DEVICE", "", "show only this device (default: all)"}, text<&Settings::device>},
    {{"SOFTRNIC_HOST", "",
      "host of an emulated InfiniBand fabric that the program is on: HOST or FABRIC/HOST; `softrnic run "
      "--host` sets it"},
     text<&Settings::host>},
};

struct Infos {
  SettingInfo rows[std::size(kRows)];
};
constexpr Infos collect_infos() {
  Infos infos{};
  for (std::size_t i = 0; i < std::size(kRows); ++i) infos.rows[i] = kRows[i].info;
  return infos;
}
constexpr Infos kInfos = collect_infos();

/// Levenshtein distance, for "did you mean".
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row[b.size()];
}

std::string unknown_warning(std::string_view name) {
  const Row* nearest =
      std::min_element(std::begin(kRows), std::end(kRows), [name](const Row& a, const Row& b) {
        return distance(a.info.name, name) < distance(b.info.name, name);
      });
  std::string out = "unknown environment variable " + std::string(name);
  if (distance(nearest->info.name, name) <= kTypingErrors)
    return out + "; did you mean " + std::string(nearest->info.name) + "?";
  out += " is ignored; there are";
  for (const Row& row : kRows) out.append(" ").append(row.info.name);
  return out;
}

void parse_one(std::string_view name, std::string_view value, Settings& out,
               std::vector<std::string>& warnings) {
  for (const Row& row : kRows) {
    if (row.info.name != name) continue;
    if (row.parse(value, out)) return;
    warnings.push_back(std::string(name) + "=" + std::string(value) +
                       " is ignored; its meaning is: " + std::string(row.info.help));
    return;
  }
  warnings.push_back(unknown_warning(name));
}

Settings load_settings() {
  if (getauxval(AT_SECURE) != 0) return {};
  std::vector<std::string> warnings;
  Settings loaded = parse_settings(environ, warnings);
  for (const std::string& warning : warnings) std::fprintf(stderr, "softrnic: %s\n", warning.c_str());
  set_language(loaded.language);
  return loaded;
}

}  // namespace

std::span<const SettingInfo> setting_table() { return kInfos.rows; }

Settings parse_settings(const char* const* environment, std::vector<std::string>& warnings) {
  Settings out;
  for (; environment != nullptr && *environment != nullptr; ++environment) {
    const std::string_view entry = *environment;
    if (entry.substr(0, kPrefix.size()) != kPrefix) continue;
    const std::size_t equals = entry.find('=');
    if (equals == std::string_view::npos) continue;
    parse_one(entry.substr(0, equals), entry.substr(equals + 1), out, warnings);
  }
  return out;
}

const Settings& settings() {
  static const Settings loaded = load_settings();
  return loaded;
}

}  // namespace softrnic
