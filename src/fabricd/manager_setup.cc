#include "fabricd/manager_setup.h"

#include <fmt/core.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string_view>

#include "subnet/opensm_conf.h"
#include "subnet/partitions_conf.h"
#include "subnet/routing_engine.h"

namespace softrnic::fabricd {
namespace {

using Settled = Expected<void, std::string>;

Settled set_configuration(const std::string& path, subnet::ManagerOptions& options) {
  if (path.empty()) return {};
  const auto text = read_text(path);
  if (!text) return Unexpected{text.error()};
  auto read = subnet::read_opensm_conf(*text, std::move(options));
  if (!read)
    return Unexpected{fmt::format("{}, line {}: {} {}", path, read.error().line, read.error().option,
                                  subnet::name_of(read.error().fault))};
  options = std::move(*read);
  return {};
}

Settled set_partitions(const std::string& path, subnet::ManagerOptions& options) {
  if (path.empty()) return {};
  const auto text = read_text(path);
  if (!text) return Unexpected{text.error()};
  auto read = subnet::parse_partitions_conf(*text);
  if (!read)
    return Unexpected{
        fmt::format("{}, line {}: {}", path, read.error().line, subnet::name_of(read.error().fault))};
  options.partitions = std::move(*read);
  return {};
}

Settled set_routing(const std::string& engine, subnet::ManagerOptions& options) {
  if (engine.empty()) return {};
  const auto known = subnet::routing_engines();
  if (std::ranges::find(known, engine) == known.end()) {
    std::string names;
    for (const std::string_view name : known) names.append(names.empty() ? "" : ", ").append(name);
    return Unexpected{fmt::format("the embedded manager has no routing engine {}, but {}", engine, names)};
  }
  options.routing.engine = engine;
  return {};
}

}  // namespace

Expected<std::string, std::string> read_text(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf())) return Unexpected{path + " cannot be read"};
  return std::move(text).str();
}

Expected<subnet::ManagerOptions, std::string> manager_options(const Options& options) {
  subnet::ManagerOptions made;
  if (auto done = set_configuration(options.configuration, made); !done) return Unexpected{done.error()};
  if (auto done = set_partitions(options.partitions, made); !done) return Unexpected{done.error()};
  if (auto done = set_routing(options.routing, made); !done) return Unexpected{done.error()};
  return made;
}

}  // namespace softrnic::fabricd
