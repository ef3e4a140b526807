#include "fabric/text_error.h"

#include "base/printable.h"

namespace softrnic::fabric {

std::string to_string(const TextError& error) {
  if (error.line == 0) return error.what;
  return "line " + std::to_string(error.line) + ": " + error.what;
}

std::string quoted(std::string_view text) {
  constexpr std::size_t kLongest = 64;
  const bool cut = text.size() > kLongest;
  return "\"" + printable(text.substr(0, kLongest)) + (cut ? "…\"" : "\"");
}

}  // namespace softrnic::fabric
