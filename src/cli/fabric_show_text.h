// A whole fabric as text for people.
#pragma once

#include <string>

#include "cli/fabric_answer.h"

namespace softrnic::cli {

/// What `show` answers: each node with its ports, links and their load; virtual lanes where they are in it.
std::string fabric_text(const Json& fabric);

/// "42%", "0.5%"
std::string percent_text(double part);

}  // namespace softrnic::cli
