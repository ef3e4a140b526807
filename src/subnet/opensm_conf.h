// OpenSM's opensm.conf, as far as the embedded manager has its options: a line for each, the name and behind
// it the value.
//
//   qos TRUE                       # comment
//   qos_vlarb_low 0:192,1:64
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/expected.h"
#include "subnet/options.h"

namespace softrnic::subnet {

enum class OpensmConfFault : std::uint8_t {
  unknown_option,
  no_value,
  bad_value,  ///< no number, or out of the option's range
};
std::string_view name_of(OpensmConfFault fault);

struct OpensmConfError {
  std::size_t line = 0;  ///< from 1
  OpensmConfFault fault{};
  std::string option;
};

/// `options` with what the text says. An option that this manager does not have is an error: what it would
/// have done does not happen. The value (null) leaves an option as it is.
Expected<ManagerOptions, OpensmConfError> read_opensm_conf(std::string_view text, ManagerOptions options);

}  // namespace softrnic::subnet
