// In which language a process explains: SOFTRNIC_LANG.
#pragma once

#include <cstdint>

namespace softrnic {

enum class Language : std::uint8_t { english, chinese };

/// English until set_language(). Any thread, at any time.
Language language();

/// Done when the settings are read, and not by those who explain: layers that do no I/O read no environment.
void set_language(Language chosen);

/// The one of the two that `in` asks for.
template <typename Text>
constexpr Text in_words(Language in, Text english, Text chinese) {
  return in == Language::chinese ? chinese : english;
}

}  // namespace softrnic
