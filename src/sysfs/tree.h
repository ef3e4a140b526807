// The files of the table (entries.h) for the devices that there are.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sysfs/entries.h"

namespace softrnic::sysfs {

struct Node {
  std::string path;  ///< "/sys/class/infiniband/soft0/node_type"; no two nodes have the same
  NodeKind kind = NodeKind::file;
  std::string text;

  bool operator==(const Node&) const = default;
};

/// Sorted by path. The folders are those that the paths name.
using Tree = std::vector<Node>;

Tree make_tree(const Facts& facts);

/// The node of a path, or nullptr.
const Node* find(const Tree& tree, std::string_view path);

/// Whether the text of this file is made of counters.
bool is_counter(std::string_view path);

/// Tells trees with other nodes apart, whatever their texts are.
std::string shape_of(const Tree& tree);

}  // namespace softrnic::sysfs
