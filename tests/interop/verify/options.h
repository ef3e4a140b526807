// The command line of test programs with two sides: options with a value each, and the other side's host.
#pragma once

#include <charconv>
#include <string>
#include <string_view>
#include <system_error>

namespace interop {

template <typename Number>
bool parse(std::string_view word, Number& value) {
  return std::from_chars(word.data(), word.data() + word.size(), value).ec == std::errc();
}

/// Reads "--name value" by set(name, value), which says whether there is such an option and that is a value for
/// it, and a word without dashes into `host`. False: something cannot be read.
template <typename Set>
bool read_options(int argc, char** argv, std::string& host, Set set) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (!word.starts_with("--")) {
      host = word;
      continue;
    }
    if (++i == argc || !set(word, std::string_view(argv[i]))) return false;
  }
  return true;
}

}  // namespace interop
