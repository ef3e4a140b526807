#include "control/error.h"

namespace softrnic::control {

Error make_error(const Failure& failure, Language in) {
  Error error{failure, describe(failure.reason, in)};
  const std::string_view cure = reason_text(failure.reason.id, in).cure;
  if (!cure.empty()) error.text.append(in_words(in, ": ", "。")).append(cure);
  return error;
}

Error told_error(const Failure& failure, std::optional<std::string_view> text) {
  const std::string own = make_error(failure, Language::english).text;
  const bool is_cut = text && text->size() == kTextSize - 1;
  const bool is_ours = !text || text->empty() || *text == own || (is_cut && own.starts_with(*text));
  return is_ours ? make_error(failure) : Error{failure, std::string(*text)};
}

}  // namespace softrnic::control
