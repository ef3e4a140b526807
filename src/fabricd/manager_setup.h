// What the embedded subnet manager is to do, from the command line and the files that it names.
#pragma once

#include <string>

#include "base/expected.h"
#include "fabricd/options.h"
#include "subnet/options.h"

namespace softrnic::fabricd {

/// A sentence: a file cannot be read, or says what the manager does not understand.
Expected<subnet::ManagerOptions, std::string> manager_options(const Options& options);

/// The whole file; a sentence.
Expected<std::string, std::string> read_text(const std::string& path);

}  // namespace softrnic::fabricd
