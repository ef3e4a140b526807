// Why something was refused, dropped or failed: one table (reasons.def, its Chinese in reasons_zh.def), one
// record, one way out.
//
// A reason costs nothing until it happens: the record is a small fixed-size value of figures, and
// the sentence is made only when somebody reads it. Records live in shared memory (see engine/),
// so they hold no pointers.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/language.h"

namespace softrnic {

/// Files that name one include base/reason_id.h; 0: none.
enum class ReasonId : std::uint16_t;

/// What stands in the table for a reason.
struct ReasonText {
  std::string_view id;
  std::string_view sentence;  ///< with {0}…{3} or {0:FORM}…{3:FORM} for the figures, see reason_words.h
  std::string_view cure;
};

/// The table entry of `id`; the entry of ReasonId::none for a value out of range. Does not allocate.
const ReasonText& reason_text(ReasonId id, Language in = language());

/// The number of reasons in the table.
std::size_t reason_count();

/// A reason with its figures.
struct Reason {
  ReasonId id{};
  std::array<std::uint64_t, 4> figures{};
};

template <typename... Figures>
constexpr Reason because(ReasonId id, Figures... figures) {
  static_assert(sizeof...(figures) <= 4);
  return Reason{id, {static_cast<std::uint64_t>(figures)...}};
}

/// The sentence of `reason` with its figures filled in (no cure).
std::string describe(const Reason& reason, Language in = language());

/// A refused verb: the errno its man page names, and the reason.
struct Failure {
  int error = 0;  ///< positive errno
  Reason reason;
};

template <typename... Figures>
constexpr Failure refuse(int error, ReasonId id, Figures... figures) {
  return Failure{error, because(id, figures...)};
}

/// One occurrence: a reason and the object it is about.
struct Explanation {
  std::uint64_t time_ns = 0;   ///< CLOCK_REALTIME, filled in by the sink
  std::uint32_t qpn = 0;       ///< 0: not about a QP
  std::uint32_t peer_qpn = 0;  ///< 0: unknown
  std::uint64_t wr_id = 0;
  bool has_wr_id = false;
  Reason reason;
};

/// Where explanations go. Installed once by the engine; before that they go nowhere.
using ExplainSink = void (*)(const Explanation&);
void set_explain_sink(ExplainSink sink);

/// The one way out for every explanation. Thread-safe, does not allocate.
void explain(const Explanation& explanation);

}  // namespace softrnic
