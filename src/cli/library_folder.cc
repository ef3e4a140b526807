#include "cli/library_folder.h"

#include <filesystem>

#include "cli/output.h"

namespace softrnic::cli {

std::string library_folder() {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  for (const char* folder : {SOFTRNIC_LIBDIR "/softrnic", "lib/softrnic"}) {
    const auto path = self.parent_path().parent_path() / folder;
    if (!self.empty() && std::filesystem::exists(path / "libibverbs.so.1", error)) return path.string();
  }
  complain("libibverbs.so.1 of softrnic is not where it belongs; is softrnic installed completely?");
  return {};
}

}  // namespace softrnic::cli
