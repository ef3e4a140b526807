// Whether two ports can talk, as JSON: what `softrnic fabric why` shows.
#pragma once

#include <string>
#include <string_view>

#include "base/expected.h"
#include "fabricd/connectivity.h"
#include "fabricd/obstacle_texts.h"

namespace softrnic::fabricd {

/// `question` without its ports, which these two texts name. A sentence: one of them is not there.
Expected<std::string, std::string> why_report(const FabricState& state, std::string_view a,
                                              std::string_view b, Question question, CureContext context);

}  // namespace softrnic::fabricd
