// What is wrong with a text that describes a fabric, and where.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace softrnic::fabric {

struct TextError {
  std::size_t line = 0;  ///< from 1; 0: the text as a whole
  std::string what;      ///< a sentence: what is wrong and what was expected
};

/// "line 3: …"
std::string to_string(const TextError& error);

/// A piece of somebody's text for a message: in quotes, fit for a terminal, no longer than a name.
std::string quoted(std::string_view text);

}  // namespace softrnic::fabric
