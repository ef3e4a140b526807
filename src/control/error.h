// Why a request to the daemon failed, and how the daemon's refusal travels.
//
// A refusal is carried by an ErrorReply and by a StartupReport, which have the same four fields: error,
// reason, figures and text. The text is English whatever the daemon's language: so the other side sees
// whether its own table says the same, and then says it in its own language.
#pragma once

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>

#include "base/expected.h"
#include "base/reason.h"
#include "control/messages.h"

namespace softrnic::control {

/// errno, reason, and a sentence for people: never empty; in the daemon's words when it refused and its table
/// of reasons is another version's.
struct Error {
  Failure failure;
  std::string text;
};

/// The sentence and cure of a failure.
Error make_error(const Failure& failure, Language in = language());

/// The failure that a daemon told with `text`.
Error told_error(const Failure& failure, std::optional<std::string_view> text);

template <typename Refusal>
void put_failure(Refusal& out, const Failure& failure) {
  out.error = failure.error;
  out.reason = static_cast<std::uint32_t>(failure.reason.id);
  std::copy(failure.reason.figures.begin(), failure.reason.figures.end(), out.figures);
  if (failure.error != 0) put_text(out.text, make_error(failure, Language::english).text);
}

/// Error 0 of a StartupReport: there was none. A reason that this side does not know is ReasonId::none.
template <typename Refusal>
Failure failure_in(const Refusal& in) {
  Failure failure{in.error >= 0 ? in.error : EPROTO, {}};
  if (in.reason < reason_count()) failure.reason.id = static_cast<ReasonId>(in.reason);
  std::copy(std::begin(in.figures), std::end(in.figures), failure.reason.figures.begin());
  return failure;
}

template <typename Refusal>
Error error_in(const Refusal& in) {
  Failure failure = failure_in(in);
  if (failure.error == 0) failure.error = EPROTO;
  return told_error(failure, text_in(in.text));
}

/// Whether there was an answer, for those who ask nothing else of it.
template <typename Reply>
Expected<void, Error> without_value(const Expected<Reply, Error>& reply) {
  if (!reply) return Unexpected{reply.error()};
  return {};
}

}  // namespace softrnic::control
