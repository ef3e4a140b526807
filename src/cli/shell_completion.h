// What shells complete of `softrnic …`, made from the grammar that --help is made from.
#pragma once

#include <string>

#include "grammar/table.h"

namespace softrnic::cli {

/// Files to be sourced, each in the language of its shell.
std::string bash_completion(const grammar::CommandTable& softrnic);
std::string zsh_completion(const grammar::CommandTable& softrnic);
std::string fish_completion(const grammar::CommandTable& softrnic);

}  // namespace softrnic::cli
