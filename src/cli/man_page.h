// Manual pages in the language of man(7), made from the grammar that --help is made from.
#pragma once

#include <string>

#include "grammar/table.h"

namespace softrnic::cli {

/// The page of a command. `name`: as it is called, "softrnic cp"; `section`: of the manual, 1 or 8.
std::string man_page(const grammar::CommandTable& command, const std::string& name, int section);
/// softrnic(7): the environment variables.
std::string man_page_of_settings();

}  // namespace softrnic::cli
