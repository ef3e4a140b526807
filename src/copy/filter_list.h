// --include and --exclude: the first pattern that matches decides; what no pattern matches is copied.
#pragma once

#include <string>
#include <vector>

#include "copy/records.h"

namespace softrnic::copy {

/// Patterns are those of the shell: `*` and `?` do not match '/', `**` does. A pattern without '/' is matched
/// with the last part of a path, one that begins with '/' with the whole path, others with any number of
/// parts at its end. A pattern that ends with '/' matches directories alone.
class FilterList {
 public:
  static constexpr std::size_t kMost = 1000;
  void add(Filter filter) { filters_.push_back(std::move(filter)); }
  const std::vector<Filter>& all() const { return filters_; }
  bool excludes(const std::string& path, bool is_directory) const;

 private:
  std::vector<Filter> filters_;
};

}  // namespace softrnic::copy
