#include "fabric/shape_arguments.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "fabric/text_error.h"
#include "fabric/topology.h"

namespace softrnic::fabric {
namespace {

std::optional<std::uint32_t> read_number(std::string_view text, std::uint32_t least, std::uint32_t most) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < least || value > most)
    return std::nullopt;
  return value;
}

std::string wants_number(std::string_view name, std::string_view value, std::uint32_t least,
                         std::uint32_t most) {
  return std::string(name) + "=" + quoted(value) + ": expected a number from " + std::to_string(least) +
         " to " + std::to_string(most);
}

/// Cuts the part up to the next separator off the front.
std::string_view cut(std::string_view& text, char separator) {
  const std::size_t end = text.find(separator);
  const std::string_view part = text.substr(0, end);
  text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  return part;
}

}  // namespace

Expected<ShapeArguments, std::string> ShapeArguments::parse(std::string_view text, std::string_view shape,
                                                            std::span<const ShapeParameter> table,
                                                            ShapePositional positional) {
  ShapeArguments out(shape, table);
  if (text.ends_with(',')) return Unexpected{std::string("an option is missing after the last comma")};
  for (bool is_first = true; !text.empty(); is_first = false) {
    const std::string_view item = cut(text, ',');
    const std::size_t equals = item.find('=');
    std::string trouble;
    if (equals != std::string_view::npos)
      trouble = out.take_option(item.substr(0, equals), item.substr(equals + 1));
    else if (is_first && !positional.parameter.empty())
      trouble = out.take_positional(item, positional);
    else
      trouble = quoted(item) + ": expected an option with a value, NAME=VALUE";
    if (!trouble.empty()) return Unexpected{std::move(trouble)};
  }
  return out;
}

std::uint32_t ShapeArguments::operator[](std::string_view name) const {
  for (std::size_t row = 0; row < table_.size(); ++row) {
    if (table_[row].name == name) return given_[row].value_or(table_[row].standard);
  }
  return 0;
}

bool ShapeArguments::has(std::string_view name) const {
  for (std::size_t row = 0; row < table_.size(); ++row) {
    if (table_[row].name == name) return given_[row].has_value();
  }
  return false;
}

std::string ShapeArguments::take_positional(std::string_view text, ShapePositional positional) {
  return positional.dimensions ? take_dimensions(text) : take_option(positional.parameter, text);
}

std::string ShapeArguments::take_dimensions(std::string_view text) {
  const std::string_view all = text;
  while (dimensions_.size() < kMaxDimensions && !text.empty()) {
    const auto number = read_number(cut(text, 'x'), kMinDimension, kMaxDimension);
    if (!number) break;
    dimensions_.push_back(*number);
    if (text.empty() && !all.ends_with('x')) return {};
  }
  return quoted(all) + ": expected 1 to 6 numbers from 2 on with x between them, as in 4x4x2";
}

std::string ShapeArguments::take_option(std::string_view key, std::string_view value) {
  for (std::size_t row = 0; row < table_.size(); ++row) {
    if (table_[row].name == key) return take_number(row, value);
  }
  return take_common(key, value);
}

std::string ShapeArguments::take_number(std::size_t row, std::string_view value) {
  const ShapeParameter& parameter = table_[row];
  if (given_[row]) return std::string(parameter.name) + " is given twice";
  given_[row] = read_number(value, parameter.least, parameter.most);
  return given_[row] ? std::string() : wants_number(parameter.name, value, parameter.least, parameter.most);
}

std::string ShapeArguments::take_common(std::string_view key, std::string_view value) {
  constexpr std::uint32_t kMost = Topology::kMaxNodePorts;
  if (key == "width") {
    const auto width = find_link_width(value);
    if (!width) return "width=" + quoted(value) + ": expected one of " + link_width_names();
    rate_.width = *width;
    return std::exchange(has_width_, true) ? "width is given twice" : "";
  }
  if (key == "speed") {
    const auto speed = find_link_speed(value);
    if (!speed) return "speed=" + quoted(value) + ": expected one of " + link_speed_names();
    rate_.speed = *speed;
    return std::exchange(has_speed_, true) ? "speed is given twice" : "";
  }
  if (key != "ports") return unknown(key);
  if (ports_) return "ports is given twice";
  ports_ = read_number(value, 1, kMost);
  return ports_ ? std::string() : wants_number("ports", value, 1, kMost);
}

std::string ShapeArguments::unknown(std::string_view key) const {
  std::string names;
  for (const ShapeParameter& parameter : table_) names += std::string(parameter.name) + ", ";
  return quoted(key) + " is no option of " + std::string(shape_) + "; it has " + names +
         "width, speed and ports";
}

}  // namespace softrnic::fabric
