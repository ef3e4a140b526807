// The commands of `softrnic fabric` to a running fabric: lines of words (control/fabric_commands.h).
#pragma once

#include <string>
#include <string_view>

#include "base/expected.h"

namespace softrnic::fabricd {

class EmulatedFabric;

/// What a command answers, as JSON; or a sentence that says why it was not done.
Expected<std::string, std::string> perform(EmulatedFabric& fabric, std::string_view line);

}  // namespace softrnic::fabricd
