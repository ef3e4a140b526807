#include "subnet/partitions_conf.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "subnet/conf_text.h"

namespace softrnic::subnet {
namespace {

using Fault = PartitionsConfFault;
using Result = Expected<void, Fault>;

constexpr std::array<std::string_view, 9> kFaultNames = {
    "no partition definition", "bad P_Key", "no P_Key left",  "unknown flag",
    "bad value of a flag",     "bad port",  "bad membership", "bad multicast address",
    "no semicolon at the end",
};

// "name = value"; without "=" there is no value.
struct Item {
  std::string_view name;
  std::optional<std::string_view> value;
};
Item parse_item(std::string_view text) {
  const std::size_t at = text.find('=');
  if (at == std::string_view::npos) return {trim(text), std::nullopt};
  return {trim(text.substr(0, at)), trim(text.substr(at + 1))};
}

// Decimal, or hexadecimal behind 0x.
template <typename T>
std::optional<T> parse_number(std::string_view text, std::uint64_t most = std::numeric_limits<T>::max()) {
  int base = 10;
  if (text.starts_with("0x") || text.starts_with("0X")) {
    base = 16;
    text.remove_prefix(2);
  }
  std::uint64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number, base);
  if (error != std::errc() || stop != end || text.empty() || number > most) return std::nullopt;
  return static_cast<T>(number);
}

// As in OpenSM the beginning of a word is enough.
std::optional<Membership> parse_membership(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, Membership>, 3> kWords = {{
      {"full", Membership::full},
      {"limited", Membership::limited},
      {"both", Membership::both},
  }};
  for (const auto& [word, membership] : kWords) {
    if (!text.empty() && word.starts_with(text)) return membership;
  }
  return std::nullopt;
}

// Flags with a number, which ones are legal, and where it is kept.
struct NumberFlag {
  std::string_view name;
  std::uint64_t least;
  std::uint64_t most;
  void (*keep)(GroupFlags& flags, std::uint64_t value);
};
constexpr std::array<NumberFlag, 7> kNumberFlags = {{
    {"mtu", 1, 63, [](GroupFlags& f, std::uint64_t v) { f.mtu = static_cast<std::uint8_t>(v); }},
    {"rate", 1, 63, [](GroupFlags& f, std::uint64_t v) { f.rate = static_cast<std::uint8_t>(v); }},
    {"sl", 0, 15, [](GroupFlags& f, std::uint64_t v) { f.sl = static_cast<std::uint8_t>(v); }},
    {"scope", 1, 15, [](GroupFlags& f, std::uint64_t v) { f.scopes |= static_cast<std::uint16_t>(1U << v); }},
    {"Q_Key", 0, 0xffffffff, [](GroupFlags& f, std::uint64_t v) { f.qkey = static_cast<std::uint32_t>(v); }},
    {"TClass", 0, 255,
     [](GroupFlags& f, std::uint64_t v) { f.traffic_class = static_cast<std::uint8_t>(v); }},
    {"FlowLabel", 0, 0xfffff,
     [](GroupFlags& f, std::uint64_t v) { f.flow_label = static_cast<std::uint32_t>(v); }},
}};

Result parse_group_flag(const Item& item, GroupFlags& flags) {
  const auto flag = std::ranges::find(kNumberFlags, item.name, &NumberFlag::name);
  if (flag == kNumberFlags.end()) return Unexpected{Fault::unknown_flag};
  const auto value = item.value ? parse_number<std::uint64_t>(*item.value, flag->most) : std::nullopt;
  if (!value || *value < flag->least) return Unexpected{Fault::bad_flag_value};
  flag->keep(flags, *value);
  return {};
}

struct PortWord {
  std::string_view word;
  PortChoice choice;
};
constexpr std::array<PortWord, 5> kPortWords = {{
    {"ALL", PortChoice::all},
    {"ALL_CAS", PortChoice::all_cas},
    {"ALL_SWITCHES", PortChoice::all_switches},
    {"ALL_ROUTERS", PortChoice::all_routers},
    {"SELF", PortChoice::self},
}};

// Reads the text line by line. `open_` is the place of the partition whose semicolon has not come.
class Parser {
 public:
  Parser() {
    Partition partition;
    partition.name = "Default";
    partition.rules = {{PortChoice::all, Guid{}, Membership::limited},
                       {PortChoice::self, Guid{}, Membership::full}};
    add(std::move(partition));
    open_.reset();
  }

  Expected<std::vector<Partition>, PartitionsConfError> parse(std::string_view text) {
    std::size_t line = 0;
    while (!text.empty()) {
      ++line;
      std::string_view rest = cut(text, "\n");
      const Result result = parse_line(cut(rest, "#"));
      if (!result) return Unexpected{PartitionsConfError{line, result.error()}};
    }
    if (open_) return Unexpected{PartitionsConfError{line, Fault::no_end}};
    return std::move(partitions_);
  }

 private:
  Result parse_line(std::string_view line) {
    while (!trim(line).empty()) {
      const bool ends = line.find(';') != std::string_view::npos;
      std::string_view part = trim(cut(line, ";"));
      if (!open_ && !part.empty()) {
        if (part.find(':') == std::string_view::npos) return Unexpected{Fault::no_definition};
        const Result result = parse_definition(cut(part, ":"));
        if (!result) return result;
      }
      if (open_) {
        const Result result = parse_properties(trim(part));
        if (!result) return result;
      }
      if (ends) open_.reset();
    }
    return {};
  }

  Result parse_definition(std::string_view text) {
    Item name = parse_item(cut(text, ","));
    // A P_Key may stand without a name.
    const bool starts_with_digit = !name.name.empty() && name.name[0] >= '0' && name.name[0] <= '9';
    if (!name.value && starts_with_digit) name = {{}, name.name};
    Partition partition;
    partition.name = name.name;
    default_membership_ = Membership::limited;
    while (!trim(text).empty()) {
      const Result result = parse_flag(parse_item(cut(text, ",")), partition);
      if (!result) return result;
    }
    return open(std::move(partition), name.value);
  }

  Result parse_flag(const Item& item, Partition& partition) {
    if (item.name == "ipoib") {
      partition.ipoib = true;
    } else if (item.name == "indx0") {
      partition.index0 = true;
    } else if (item.name == "defmember") {
      const auto membership = parse_membership(item.value.value_or(""));
      if (!membership) return Unexpected{Fault::bad_membership};
      default_membership_ = *membership;
    } else {
      return parse_group_flag(item, partition.flags);
    }
    return {};
  }

  // Finds the partition that the definition is of, or adds it.
  Result open(Partition partition, std::optional<std::string_view> pkey) {
    std::uint16_t number = 0;
    if (pkey) {
      const auto parsed = parse_number<std::uint16_t>(*pkey);
      if (!parsed) return Unexpected{Fault::bad_pkey};
      number = *parsed & kPartitionMask;
    }
    definition_flags_ = partition.flags;
    open_ = number != 0 ? find(by_number_, number) : find(by_name_, partition.name);
    if (!open_) {
      partition.number = number != 0 ? number : free_number();
      if (partition.number == 0) return Unexpected{Fault::no_pkey_left};
      add(std::move(partition));
      return {};
    }
    Partition& known = partitions_[*open_];
    if (partition.ipoib || !known.ipoib) known.flags = partition.flags;
    known.ipoib |= partition.ipoib;
    known.index0 |= partition.index0;
    return {};
  }

  template <typename Map, typename Key>
  static std::optional<std::size_t> find(const Map& map, const Key& key) {
    const auto found = map.find(key);
    return found == map.end() ? std::nullopt : std::optional(found->second);
  }

  void add(Partition partition) {
    open_ = partitions_.size();
    by_number_.emplace(partition.number, *open_);
    if (!partition.name.empty()) by_name_.emplace(partition.name, *open_);
    partitions_.push_back(std::move(partition));
  }

  // 0 when there is none.
  std::uint16_t free_number() {
    for (; next_number_ < kDefaultPartition; ++next_number_) {
      if (!by_number_.contains(next_number_)) return next_number_;
    }
    return 0;
  }

  Result parse_properties(std::string_view text) {
    if (text.starts_with("mgid")) return parse_group(text);
    while (!trim(text).empty()) {
      const Item item = parse_item(cut(text, ","));
      if (item.name.empty() || item.name == "NONE") continue;
      const Result result = parse_port(item);
      if (!result) return result;
    }
    return {};
  }

  Result parse_port(const Item& item) {
    PartitionRule rule;
    rule.membership = default_membership_;
    if (item.value) {
      const auto membership = parse_membership(*item.value);
      if (!membership) return Unexpected{Fault::bad_membership};
      rule.membership = *membership;
    }
    const auto word = std::ranges::find(kPortWords, item.name, &PortWord::word);
    if (word != kPortWords.end()) {
      rule.choice = word->choice;
    } else {
      const auto guid = parse_number<std::uint64_t>(item.name);
      if (!guid || *guid == 0) return Unexpected{Fault::bad_port};
      rule.choice = PortChoice::guid;
      rule.guid = Guid(*guid);
    }
    partitions_[*open_].rules.push_back(rule);
    return {};
  }

  Result parse_group(std::string_view text) {
    const Item item = parse_item(cut(text, ","));
    PartitionGroup group;
    group.flags = definition_flags_;
    const std::string address(item.value.value_or(""));
    const bool is_address = inet_pton(AF_INET6, address.c_str(), group.mgid.raw.data()) == 1;
    const bool is_good = item.name == "mgid" && is_address && group.mgid.raw[0] == std::byte{0xff};
    if (!is_good) return Unexpected{Fault::bad_mgid};
    while (!trim(text).empty()) {
      const Result result = parse_group_flag(parse_item(cut(text, ",")), group.flags);
      if (!result) return result;
    }
    partitions_[*open_].groups.push_back(group);
    return {};
  }

  std::vector<Partition> partitions_;
  std::unordered_map<std::uint16_t, std::size_t> by_number_;
  std::unordered_map<std::string, std::size_t> by_name_;
  std::optional<std::size_t> open_;
  GroupFlags definition_flags_;
  Membership default_membership_ = Membership::limited;
  std::uint16_t next_number_ = 1;
};

}  // namespace

std::string_view name_of(PartitionsConfFault fault) { return kFaultNames[static_cast<std::size_t>(fault)]; }

Expected<std::vector<Partition>, PartitionsConfError> parse_partitions_conf(std::string_view text) {
  return Parser().parse(text);
}

}  // namespace softrnic::subnet
