#include "sysfs/tree.h"

#include <algorithm>
#include <cstdio>

#include "rnic/limits.h"

namespace softrnic::sysfs {
namespace {

void replace(std::string& text, std::string_view word, const std::string& by) {
  const std::size_t at = text.find(word);
  if (at != std::string::npos) text.replace(at, word.size(), by);
}

std::string counter_name(const Entry& entry, std::size_t index) {
  if (entry.each == Each::port_counter) return port_counters()[index].name;
  return entry.each == Each::hw_counter ? hw_counters()[index].name : "";
}

std::string path_of(const Entry& entry, const Place& at) {
  std::string path = entry.path;
  if (at.device == nullptr) return path;
  replace(path, "{device}", at.device->info.name);
  const std::string number = std::to_string(at.device->info.index);
  replace(path, "{uverbs}", "uverbs" + number);
  replace(path, "{umad}", "umad" + number);
  replace(path, "{issm}", "issm" + number);
  replace(path, "{netdev}", at.device->info.netdev);
  replace(path, "{index}", std::to_string(at.index));
  replace(path, "{counter}", counter_name(entry, at.index));
  return path;
}

/// How often the row stands in the tree for this device.
std::size_t count(Each each, const DeviceFacts& device) {
  switch (each) {
    case Each::netdev:
      return device.info.netdev.empty() ? 0 : 1;
    case Each::mad_port:
      return device::has_streams(device.info.kind) ? 0 : 1;
    case Each::gid:
    case Each::used_gid:
      return device.info.port.gids.size();
    case Each::pkey:
      return device::pkeys_of(device.info).size();
    case Each::port_counter:
      return port_counters().size();
    case Each::hw_counter:
      return hw_counters().size();
    case Each::host:
    case Each::device:
      break;
  }
  return 1;
}

void add(Tree& tree, const Entry& entry, const Place& at) {
  tree.push_back({path_of(entry, at), entry.kind, entry.text(at)});
}

void add_device(Tree& tree, const Entry& entry, const DeviceFacts& device) {
  for (std::size_t index = 0; index < count(entry.each, device); ++index) {
    if (entry.each == Each::used_gid && device.info.port.gids[index].gid.is_zero()) continue;
    add(tree, entry, {&device, index});
  }
}

}  // namespace

Tree make_tree(const Facts& facts) {
  Tree tree;
  for (const Entry& entry : entries()) {
    if (entry.each == Each::host) {
      add(tree, entry, {});
      continue;
    }
    for (const DeviceFacts& device : facts) add_device(tree, entry, device);
  }
  std::sort(tree.begin(), tree.end(), [](const Node& a, const Node& b) { return a.path < b.path; });
  return tree;
}

const Node* find(const Tree& tree, std::string_view path) {
  const auto it =
      std::lower_bound(tree.begin(), tree.end(), path,
                       [](const Node& node, std::string_view wanted) { return node.path < wanted; });
  return it != tree.end() && it->path == path ? &*it : nullptr;
}

bool is_counter(std::string_view path) { return path.find("counters/") != std::string_view::npos; }

std::string shape_of(const Tree& tree) {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  const auto take = [&hash](char c) { hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3; };
  for (const Node& node : tree) {
    for (const char c : node.path) take(c);
    take('\n');
    // what a link points to is part of the shape: nobody opens a link to read it
    if (node.kind == NodeKind::link)
      for (const char c : node.text) take(c);
  }
  char text[32];
  const int length = std::snprintf(text, sizeof text, "%016llx\n", static_cast<unsigned long long>(hash));
  return {text, static_cast<std::size_t>(std::max(length, 0))};
}

}  // namespace softrnic::sysfs
