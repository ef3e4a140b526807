// "Did you mean …?"
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace softrnic::cli {

/// The candidate nearest to `word` in edits, when it is near enough to be meant; else empty.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace softrnic::cli
