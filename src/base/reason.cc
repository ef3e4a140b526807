#include "base/reason.h"

#include <algorithm>
#include <atomic>

#include "base/reason_id.h"
#include "base/reason_words.h"

namespace softrnic {
namespace {

constexpr std::size_t kReasons = 0
#define SOFTRNIC_REASON(id, sentence, cure) +1
#include "base/reasons.def"
#undef SOFTRNIC_REASON
    ;

using Table = std::array<ReasonText, kReasons>;

constexpr Table kEnglish = {{
#define SOFTRNIC_REASON(id, sentence, cure) {#id, sentence, cure},
#include "base/reasons.def"
#undef SOFTRNIC_REASON
}};

/// A row that is not translated yet stays English.
consteval Table chinese_rows() {
  Table rows = kEnglish;
#define SOFTRNIC_REASON(id, sentence, cure) \
  rows[static_cast<std::size_t>(ReasonId::id)] = {#id, sentence, cure};
#include "base/reasons_zh.def"
#undef SOFTRNIC_REASON
  return rows;
}

constexpr Table kChinese = chinese_rows();

std::atomic<ExplainSink> explain_sink{nullptr};

std::string fill_in(std::string_view text, const Reason& reason, Language in) {
  std::string out;
  while (!text.empty()) {
    const std::size_t open = text.find('{');
    out += text.substr(0, open);
    if (open == std::string_view::npos) break;
    text.remove_prefix(open + 1);
    const std::string_view field = text.substr(0, text.find('}'));
    text.remove_prefix(std::min(field.size() + 1, text.size()));
    if (field.empty()) continue;
    const auto& figures = reason.figures;
    const auto index = static_cast<std::size_t>(field[0] - '0') % figures.size();
    const std::string_view form = field.size() > 1 ? field.substr(2) : "";
    out += figure_text(form, figures[index], figures[(index + 1) % figures.size()], in);
  }
  return out;
}

}  // namespace

std::size_t reason_count() { return kReasons; }

const ReasonText& reason_text(ReasonId id, Language in) {
  const auto index = static_cast<std::size_t>(id);
  return (in == Language::chinese ? kChinese : kEnglish)[index < kReasons ? index : 0];
}

std::string describe(const Reason& reason, Language in) {
  return fill_in(reason_text(reason.id, in).sentence, reason, in);
}

void set_explain_sink(ExplainSink sink) { explain_sink.store(sink, std::memory_order_release); }

void explain(const Explanation& explanation) {
  if (const ExplainSink sink = explain_sink.load(std::memory_order_acquire)) sink(explanation);
}

}  // namespace softrnic
