#include "cli/library_folder.h"

#include <filesystem>
#include <system_error>

#include "cli/output.h"
#include "control/spawn.h"

namespace softrnic::cli {

std::string library_folder() {
  const std::filesystem::path self = control::own_program();
  std::error_code error;
  for (const char* folder : {SOFTRNIC_LIBDIR "/softrnic", "lib/softrnic"}) {
    const auto path = self.parent_path().parent_path() / folder;
    if (std::filesystem::exists(path / "libibverbs.so.1", error)) return path.string();
  }
  return {};
}

std::string require_library_folder() {
  std::string folder = library_folder();
  if (folder.empty())
    complain("libibverbs.so.1 of softrnic is not where it belongs; is softrnic installed completely?");
  return folder;
}

}  // namespace softrnic::cli
