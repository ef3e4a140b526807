// Which libraries the programs of this system load: a file in ld.so.conf.d can put the drop-in ones first.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/expected.h"

namespace softrnic::cli {

/// A system as its dynamic loader sees it. All paths but `root` are those of its programs.
struct LoaderPlace {
  std::filesystem::path libraries;   ///< the folder of the drop-in libraries
  std::filesystem::path root = "/";  ///< the folder of the system; tests have one of their own
  uid_t owner = 0;  ///< who alone may change the libraries, as the programs of everybody load them
};

/// What a program gets that asks for a library by its name.
struct LoadedLibrary {
  std::string name;  ///< "libibverbs.so.1"
  std::string path;  ///< empty: the system has none
  std::string
      decider;  ///< the file of ld.so.conf.d that names its folder; empty: a folder of the loader's own
  bool ours = false;
};

/// The file that makes the difference. Its name comes before those of distributions, as the loader takes the
/// first folder that has a library.
std::filesystem::path loader_file(const LoaderPlace& place);

/// Each of the drop-in libraries, or what was in the way.
Expected<std::vector<LoadedLibrary>, std::string> loaded_libraries(const LoaderPlace& place);

/// Puts the drop-in libraries first, for all programs. When it fails all is as it was before.
Expected<void, std::string> enable_for_all(const LoaderPlace& place);
/// Takes that back. Nothing to take back is no failure.
Expected<void, std::string> disable_for_all(const LoaderPlace& place);

}  // namespace softrnic::cli
