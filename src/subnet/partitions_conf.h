// OpenSM's partitions.conf (opensm, doc/partition-config.txt):
//
//   Name = 0xPKEY , ipoib, mtu=4, defmember=full : GUID=full, ALL_SWITCHES, SELF=both ;   # comment
//
// The definition before the colon stands on one line; what follows may take several, up to the semicolon. A
// line that begins with mgid= is one multicast group with its flags.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "base/expected.h"
#include "subnet/partitions.h"

namespace softrnic::subnet {

enum class PartitionsConfFault : std::uint8_t {
  no_definition,   ///< text without a colon on its line
  bad_pkey,        ///< not a number of 16 bits
  no_pkey_left,    ///< all numbers for partitions without one are used
  unknown_flag,    ///< before the colon, or after an mgid
  bad_flag_value,  ///< missing, not a number, or too large
  bad_port,        ///< neither a GUID nor one of the words
  bad_membership,  ///< not the beginning of full, limited or both
  bad_mgid,        ///< not a multicast address
  no_end,          ///< the last partition has no semicolon
};
std::string_view name_of(PartitionsConfFault fault);

struct PartitionsConfError {
  std::size_t line = 0;  ///< from 1
  PartitionsConfFault fault{};
};

/// The partitions of the text, in its order; definitions with one P_Key become one partition, of the first
/// name. The default partition is always there: with the rules ALL=limited, SELF=full before those of the
/// text, and no others if the text does not mention it. Partitions without P_Key get the lowest free ones in
/// turn, or that of the partition of their name. Stricter than OpenSM, which passes over much that it does
/// not understand: what is not understood is an error, as a membership that was misspelt should not become
/// another.
Expected<std::vector<Partition>, PartitionsConfError> parse_partitions_conf(std::string_view text);

}  // namespace softrnic::subnet
