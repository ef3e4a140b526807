// Where the nodes of a fabric stand in a picture: hosts below, a switch the higher the further it is from the
// nearest host.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cli/fabric_answer.h"

namespace softrnic::cli {

struct DrawnNode {
  std::string name;
  std::string detail;  ///< LIDs; not printable yet
  bool is_switch = false;
  std::size_t level = 0;  ///< 0: hosts
  double x = 0;           ///< of the middle
  double width = 0;
};

/// A cable, the lower end first.
struct DrawnLink {
  std::size_t from = 0;  ///< places in Layout::nodes
  std::size_t to = 0;
  const Json* from_port = nullptr;
  const Json* to_port = nullptr;
};

struct Layout {
  std::vector<DrawnNode> nodes;
  std::vector<DrawnLink> links;
  std::size_t levels = 0;
  double width = 0;
};

/// `fabric` is what `show` answers, and outlives the layout. Cables whose other end is not there are left
/// out.
Layout lay_out(const Json& fabric);

}  // namespace softrnic::cli
