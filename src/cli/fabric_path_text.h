// Ways of packets through a fabric as text for people.
#pragma once

#include <string>

#include "cli/fabric_answer.h"

namespace softrnic::cli {

/// A table: a line for each node that a packet leaves, with what has decided there. `way` has "to", "sl" and
/// "hops".
std::string path_table(const Json& way, std::size_t indent = 0);

/// What `trace` answers of a unicast LID: the ends, the table, and how it ends.
std::string path_text(const Json& trace);
/// The same of a multicast LID: the tree.
std::string multicast_text(const Json& trace);

}  // namespace softrnic::cli
