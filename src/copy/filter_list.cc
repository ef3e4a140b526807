#include "copy/filter_list.h"

#include <fnmatch.h>

namespace softrnic::copy {
namespace {

bool matches(std::string pattern, const std::string& path, bool is_directory) {
  if (pattern.ends_with('/')) {
    if (!is_directory) return false;
    pattern.pop_back();
  }
  const int flags = pattern.find("**") == std::string::npos ? FNM_PATHNAME : 0;
  if (pattern.starts_with('/')) return fnmatch(pattern.c_str() + 1, path.c_str(), flags) == 0;
  const bool has_slash = pattern.find('/') != std::string::npos;
  for (std::size_t at = has_slash ? 0 : path.rfind('/') + 1;;) {  // npos + 1 is 0
    if (fnmatch(pattern.c_str(), path.c_str() + at, flags) == 0) return true;
    const std::size_t slash = path.find('/', at);
    if (slash == std::string::npos) return false;
    at = slash + 1;
  }
}

}  // namespace

bool FilterList::excludes(const std::string& path, bool is_directory) const {
  for (const Filter& filter : filters_)
    if (matches(filter.pattern, path, is_directory)) return filter.include == 0;
  return false;
}

}  // namespace softrnic::copy
