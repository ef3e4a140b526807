// Where the drop-in libraries lie that belong to this command.
#pragma once

#include <string>

namespace softrnic::cli {

/// Empty: they are not there.
std::string library_folder();
/// The same; complains when they are not there.
std::string require_library_folder();

}  // namespace softrnic::cli
