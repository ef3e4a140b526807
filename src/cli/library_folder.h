// Where the drop-in libraries are.
#pragma once

#include <string>

namespace softrnic::cli {

/// The folder of the drop-in libraries that belongs to this command. Empty, after a complaint, when they are
/// not there.
std::string library_folder();

}  // namespace softrnic::cli
